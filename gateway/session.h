// What the gateway knows of a session beyond the engine's record: its part of the shared table. Plain data of fixed
// size, all zeros at the start, part of the table's layout: a process that takes the table over finds the claim here
// and enters it into its own peer map.
#pragma once

#include <ppv2/decoder.h>
#include <ppv2/peer_map.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "relay/policy.h"

namespace ravelin::gateway {

// Short text of somebody else's choice. A longer one is not kept at all: half an identifier would match nothing.
template <std::size_t Size>
struct Text {
  std::uint8_t length = 0;
  std::array<char, Size> bytes{};

  void set(std::string_view text) {
    if (text.size() > Size) return;
    length = static_cast<std::uint8_t>(text.size());
    std::ranges::copy(text, bytes.begin());
  }
  [[nodiscard]] std::string_view view() const { return {bytes.data(), std::min<std::size_t>(length, Size)}; }
};

struct GatewaySession {
  sys::SocketAddress claimed;              // what the header says the client is; AF_UNSPEC: nothing is claimed
  sys::SocketAddress claimed_destination;  // and where it says that the client connected to
  sys::SocketAddress inner;                // the inner connection's own address, the key of the peer map
  std::uint32_t fault_offset = 0;          // of the byte that broke a header
  ppv2::Reason fault = ppv2::Reason::none;
  ppv2::Version version = ppv2::Version::none;  // which signature there was
  ppv2::Command command = ppv2::Command::local;
  std::uint8_t header = 0;                // a whole header was there
  std::uint8_t trusted_source = 0;        // the measured peer may speak for others
  std::uint8_t claim_trusted = 0;         // and so the claim may stand for the measured address
  std::uint8_t counted = 0;               // what the first bytes were, by the policy
  std::uint8_t payload = 0;               // something came that is not a header
  Text<ppv2::kEdgeNameMax> edge;          // the edge's name for itself
  Text<ppv2::kUniqueIdMax> edge_session;  // and for the session, verbatim
  std::uint8_t unused[2] = {};

  // The sender speaks for itself, as health checks do. Not so an edge that gives its name in a LOCAL header: it has a
  // client without an address, one of a Unix socket, and sends nothing of its own.
  [[nodiscard]] bool is_senders_own() const {
    return header != 0 && command == ppv2::Command::local && edge.length == 0;
  }
  [[nodiscard]] bool has_claim() const { return claimed.family != AF_UNSPEC; }
};
static_assert(std::is_trivially_copyable_v<GatewaySession>);
static_assert(sizeof(GatewaySession) == 280);

[[nodiscard]] GatewaySession& gateway_session(relay::SessionView session);

// Keeps what a whole header says.
void remember(GatewaySession& kept, const ppv2::Claim& claim, bool trusted);

// The address to act on: the claimed one only if its sender may make claims.
[[nodiscard]] const sys::SocketAddress& effective(relay::SessionView session);

// The session's entry for the peer map.
[[nodiscard]] ppv2::Peer peer_of(relay::SessionView session);

// By a gRPC peer string ("ipv4:127.0.0.1:41234"), or by the address as log lines have it ("127.0.0.1:41234",
// "unix:@0001f").
[[nodiscard]] std::optional<ppv2::Peer> find_by_text(const ppv2::PeerMap& peers, std::string_view text) noexcept;

// Identifiers as log lines and answers show them: as they are where they can be printed, else in hex digits.
[[nodiscard]] std::string printable(std::string_view identifier);

}  // namespace ravelin::gateway
