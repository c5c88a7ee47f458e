#include "gateway/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ppv2/ravelin.h>

#include <cassert>
#include <span>

#include "bridge/addresses.h"

namespace ravelin::gateway {

using bridge::from_ppv2;
using bridge::to_ppv2;

GatewaySession& gateway_session(relay::SessionView session) {
  assert(session.extension.size() >= sizeof(GatewaySession));
  return *reinterpret_cast<GatewaySession*>(session.extension.data());
}

void remember(GatewaySession& kept, const ppv2::Claim& claim, bool trusted) {
  kept.header = 1;
  kept.version = claim.version;
  kept.command = claim.command;
  // LOCAL means the real endpoints, whatever else the header holds (proxy-protocol.txt section 2.2). Only an edge that
  // names itself says whose session it is.
  const bool local = claim.command == ppv2::Command::local;
  const std::string_view edge = ppv2::RavelinFields::of(claim.tlvs).edge;
  if (local && edge.empty()) return;
  kept.edge.set(edge);
  kept.edge_session.set(claim.tlvs.unique_id().value_or(std::string_view()));
  if (local) return;
  kept.claimed = from_ppv2(claim.source);
  kept.claimed_destination = from_ppv2(claim.destination);
  kept.claim_trusted = trusted ? 1 : 0;
}

const sys::SocketAddress& effective(relay::SessionView session) {
  const GatewaySession& kept = gateway_session(session);
  return kept.has_claim() && kept.claim_trusted != 0 ? kept.claimed : session.record.client;
}

ppv2::Peer peer_of(relay::SessionView session) {
  const GatewaySession& kept = gateway_session(session);
  ppv2::Peer peer{.peer = to_ppv2(session.record.client),
                  .local = to_ppv2(session.record.local),
                  .claimed_source = to_ppv2(kept.claimed),
                  .claimed_destination = to_ppv2(kept.claimed_destination),
                  .accepted_at = session.record.accepted_wall_us,
                  .claim_trusted = kept.claim_trusted != 0};
  // Both are at most as long as the entry has room for.
  static_cast<void>(peer.set_edge(kept.edge.view()));
  static_cast<void>(peer.set_unique_id(kept.edge_session.view()));
  return peer;
}

std::optional<ppv2::Peer> find_by_text(const ppv2::PeerMap& peers, std::string_view text) noexcept {
  const auto address = ppv2::Address::parse(text);
  return address ? peers.find(*address) : peers.find_grpc(text);
}

std::string printable(std::string_view identifier) {
  const bool plain = std::ranges::all_of(identifier, [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (plain) return std::string(identifier);
  const std::span bytes(reinterpret_cast<const unsigned char*>(identifier.data()), identifier.size());
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace ravelin::gateway
