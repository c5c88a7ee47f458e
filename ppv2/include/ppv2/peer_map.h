// Who is behind an inner connection. A gateway that took the header off opens a second, local connection to the server
// behind it; the server sees only that hop's address, and asks here for the real peer.
//
// The order matters: the inner socket is bound, entered here, and only then connected. After connect() the server may
// already have accepted and asked (proxy order: bind, getsockname, put, connect).
//
// Any number of threads may use one map. Lookups are wait-free and never see half an entry; writers take turns on a
// short lock. An address that is not in the map is *unknown*, never trusted for being local: any process on the machine
// can connect to the inner port. The map must outlive its guards. It holds no descriptor and starts no thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ppv2/address.h"
#include "ppv2/export.h"
#include "ppv2/tlv.h"

namespace ppv2 {

constexpr std::size_t kEdgeNameMax = 64;  // bytes of Peer::edge()

// What is kept of a peer: a value without pointers. Measured and claimed addresses stay apart.
struct Peer {
  Address peer;                                 // measured: whom accept4() named
  Address local;                                // measured: where it connected to
  Address claimed_source;                       // unspec without a claim
  Address claimed_destination;                  // the same
  std::int64_t accepted_at = 0;                 // as the caller's clock counts
  bool claim_trusted = false;                   // the claim's sender may speak for others
  std::uint8_t unique_id_length = 0;            // bytes, at most 128
  std::uint8_t edge_length = 0;                 // bytes, at most 64
  char text[kUniqueIdMax + kEdgeNameMax] = {};  // the unique id, and the edge's name behind it

  // The header named a client.
  [[nodiscard]] bool has_claim() const noexcept { return claimed_source.family != Family::unspec; }
  // The client's address to act on: the claimed one only if its sender may make claims.
  [[nodiscard]] const Address& effective() const noexcept {
    return has_claim() && claim_trusted ? claimed_source : peer;
  }
  // UNIQUE_ID of the header: bytes from outside, and empty without one.
  [[nodiscard]] std::string_view unique_id() const noexcept { return {text, unique_id_length}; }
  // The name of the edge that sent the header, as it says.
  [[nodiscard]] std::string_view edge() const noexcept { return {text + unique_id_length, edge_length}; }
  PPV2_EXPORT bool set_unique_id(std::string_view id) noexcept;  // false, and nothing set, over 128 bytes
  PPV2_EXPORT bool set_edge(std::string_view name) noexcept;     // false, and nothing set, over 64 bytes
};

// The map. Half a kilobyte when empty; it allocates when an address near a new one is first entered, and never in
// find().
class PeerMap {
 public:
  class Guard;

  PPV2_EXPORT PeerMap() noexcept;  // empty
  PPV2_EXPORT ~PeerMap();          // no guard, reader or writer may be left
  PeerMap(const PeerMap&) = delete;
  PeerMap& operator=(const PeerMap&) = delete;

  // Binds `fd` to `source` (a loopback address with port 0, or unix_domain without a name for an autobound one) and
  // enters `peer` under the address it got. EADDRINUSE and EADDRNOTAVAIL mean that this source address has no port
  // left: try another one (127.0.0.2 ...), or hold back.
  [[nodiscard]] PPV2_EXPORT Guard bind_and_put(int fd, const Address& source, const Peer& peer) noexcept;
  // For a socket that is bound already, and for a table that is rebuilt. An entry under the same address is replaced.
  // Fails with EINVAL for an address that is no key (port 0, a Unix name that is not five hex digits), ENOMEM, or
  // ENOSPC past kMaxSpaces different addresses.
  [[nodiscard]] PPV2_EXPORT Guard put(const Address& key, const Peer& peer) noexcept;

  // Who is behind the inner connection from `key`; nothing for what was not entered, which is never to be trusted. An
  // IPv4 hop is found by its mapped form as well.
  [[nodiscard]] PPV2_EXPORT std::optional<Peer> find(const Address& key) const noexcept;
  // The same by what accept4() or getpeername() gave the server.
  [[nodiscard]] PPV2_EXPORT std::optional<Peer> find(const sockaddr* address, socklen_t length) const noexcept;
  // By the string that a gRPC server's context gives: "ipv4:127.0.0.1:41234", "ipv6:%5B::1%5D:41234",
  // "unix-abstract:0001f", "unix:@0001f".
  [[nodiscard]] PPV2_EXPORT std::optional<Peer> find_grpc(std::string_view peer) const noexcept;

  // Entries now, lingering ones included.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

  // How many local addresses inner connections may come from.
  static constexpr std::size_t kMaxSpaces = 64;

 private:
  struct Slot;
  struct Chunk;
  struct Leaf;
  struct Space;
  struct Key;

  [[nodiscard]] static bool key_of(const Address& address, Key& key) noexcept;
  [[nodiscard]] const Space* find_space(const Key& key) const noexcept;
  [[nodiscard]] std::atomic<Slot*>* find_entry(const Key& key, const Space*& space) const noexcept;
  [[nodiscard]] std::atomic<Slot*>* make_entry(const Key& key, const Space*& space, int& error) noexcept;
  [[nodiscard]] bool copy_entry(const Address& address, Peer& peer) const noexcept;
  void add_slots() noexcept;
  [[nodiscard]] Slot* take_slot() noexcept;
  void give_slot(Slot& slot) noexcept;
  void erase(Slot& slot, std::uint32_t generation) noexcept;
  void lock() noexcept;
  void unlock() noexcept { busy_.store(false, std::memory_order_release); }

  std::atomic<Space*> spaces_[kMaxSpaces] = {};
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> busy_{false};  // writers only
  Slot* free_ = nullptr;           // under busy_
  Chunk* chunks_ = nullptr;        // under busy_
};

// The owner of one entry: erases it when it goes, unless another put has replaced it meanwhile.
class PeerMap::Guard {
 public:
  Guard() noexcept = default;                                             // of nothing
  Guard(Guard&& other) noexcept { *this = static_cast<Guard&&>(other); }  // which owns nothing afterwards
  PPV2_EXPORT Guard& operator=(Guard&& other) noexcept;                   // erases what it owned before
  ~Guard() { erase(); }                                                   // the entry goes with it

  // It owns an entry.
  [[nodiscard]] explicit operator bool() const noexcept { return slot_ != nullptr; }
  // The errno of a guard without an entry.
  [[nodiscard]] int error() const noexcept { return error_; }
  // The inner connection's local address.
  [[nodiscard]] const Address& key() const noexcept { return key_; }
  // Now, and not when the guard goes. Call it when the inner socket is closed.
  PPV2_EXPORT void erase() noexcept;
  // Leaves the entry readable until its address is used again.
  void linger() noexcept { slot_ = nullptr; }

 private:
  friend class PeerMap;
  PeerMap* map_ = nullptr;
  Slot* slot_ = nullptr;
  std::uint32_t generation_ = 0;
  int error_ = 0;
  Address key_;
};

}  // namespace ppv2
