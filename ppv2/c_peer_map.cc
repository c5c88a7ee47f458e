// The C ABI of the peer map.
#include <cstdlib>
#include <new>
#include <type_traits>

#include "ppv2/c_structs.h"
#include "ppv2/peer_map.h"

using namespace ppv2;

struct ppv2_peermap {
  PeerMap map;
};

namespace {

static_assert(sizeof(PeerMap::Guard) <= sizeof(ppv2_guard) && alignof(PeerMap::Guard) <= alignof(ppv2_guard));

Peer to_peer(const ppv2_peer* from) noexcept {
  const ppv2_peer given = take_struct(from);
  Peer peer{.peer = to_cpp(given.peer),
            .local = to_cpp(given.local),
            .claimed_source = to_cpp(given.claimed_source),
            .claimed_destination = to_cpp(given.claimed_destination),
            .accepted_at = given.accepted_at,
            .claim_trusted = given.claim_trusted != 0};
  peer.set_unique_id({given.unique_id, std::min<size_t>(given.unique_id_length, sizeof given.unique_id)});
  peer.set_edge({given.edge, std::min<size_t>(given.edge_length, sizeof given.edge)});
  return peer;
}

int give_peer(const std::optional<Peer>& peer, ppv2_peer* out) noexcept {
  if (!peer) return 0;
  ppv2_peer result{};
  result.peer = to_c(peer->peer);
  result.local = to_c(peer->local);
  result.claimed_source = to_c(peer->claimed_source);
  result.claimed_destination = to_c(peer->claimed_destination);
  result.accepted_at = peer->accepted_at;
  result.claim_trusted = peer->claim_trusted ? 1 : 0;
  result.unique_id_length = peer->unique_id_length;
  result.edge_length = peer->edge_length;
  std::memcpy(result.unique_id, peer->unique_id().data(), peer->unique_id().size());
  std::memcpy(result.edge, peer->edge().data(), peer->edge().size());
  give_struct(result, out);
  return 1;
}

int give_guard(PeerMap::Guard&& guard, ppv2_guard* out, ppv2_address* key) noexcept {
  const int error = guard ? 0 : guard.error();
  if (key != nullptr) *key = to_c(guard.key());
  new (out) PeerMap::Guard(static_cast<PeerMap::Guard&&>(guard));
  return error;
}

}  // namespace

extern "C" {

ppv2_peermap* ppv2_peermap_new(void) {
  void* const memory = std::malloc(sizeof(ppv2_peermap));
  return memory == nullptr ? nullptr : new (memory) ppv2_peermap;
}

void ppv2_peermap_free(ppv2_peermap* map) {
  if (map == nullptr) return;
  map->~ppv2_peermap();
  std::free(map);
}

int ppv2_peermap_bind_and_put(ppv2_peermap* map, int fd, const ppv2_address* source, const ppv2_peer* peer,
                              ppv2_guard* guard, ppv2_address* key) {
  return give_guard(map->map.bind_and_put(fd, to_cpp(*source), to_peer(peer)), guard, key);
}

int ppv2_peermap_put(ppv2_peermap* map, const ppv2_address* key, const ppv2_peer* peer, ppv2_guard* guard) {
  return give_guard(map->map.put(to_cpp(*key), to_peer(peer)), guard, nullptr);
}

void ppv2_peermap_erase(ppv2_guard* guard) {
  std::launder(reinterpret_cast<PeerMap::Guard*>(guard))->erase();
}

int ppv2_peermap_find(const ppv2_peermap* map, const sockaddr* address, socklen_t length, ppv2_peer* out) {
  return give_peer(map->map.find(address, length), out);
}

int ppv2_peermap_find_grpc(const ppv2_peermap* map, const char* peer, size_t length, ppv2_peer* out) {
  return give_peer(map->map.find_grpc({peer, length}), out);
}

size_t ppv2_peermap_size(const ppv2_peermap* map) {
  return map->map.size();
}

}  // extern "C"
