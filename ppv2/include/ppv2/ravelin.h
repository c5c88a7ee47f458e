// What Ravelin's own programs put into a PROXY v2 header beside the addresses. Custom types, 0xE0 to 0xEF, have no
// meaning but between a sender and a receiver that agreed on them (proxy-protocol.txt section 2.2.8); those used here
// are taken by none of the clouds' load balancers. All values are text, so that a server which only prints fields shows
// them as they are.
//
// An edge adds its name. A gateway that writes a header for the server behind it adds the rest: a header has room for
// one client only, and the measured and the claimed one are two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ppv2/address.h"
#include "ppv2/tlv.h"

namespace ppv2 {

// The name of the edge that sent the header, UTF-8, as the edge's operator chose it. A claim like everything in a
// header.
constexpr std::uint8_t kEdgeNameTlv = 0xE1;
constexpr std::size_t kEdgeNameTlvMost = 64;  // bytes
// UNIQUE_ID (0x05) of such a header is the edge's session id as text: 32 lower-case hex digits, as in the edge's log.
constexpr std::size_t kSessionIdTextSize = 32;  // bytes

// From a gateway, whose own session id is then the UNIQUE_ID:
constexpr std::uint8_t kMeasuredTlv = 0xE2;  // "198.51.100.7:40112": whom the gateway's socket showed
constexpr std::uint8_t kClaimedTlv = 0xE3;   // "203.0.113.9:51234": what the header it took off says, if there was one
constexpr std::uint8_t kClaimTrustedTlv = 0xE4;  // beside a claim: "1" if its sender may speak for others, else "0"
constexpr std::uint8_t kEdgeSessionTlv = 0xE5;   // that header's UNIQUE_ID, verbatim

// What these fields say; views into the header's bytes.
struct RavelinFields {
  std::string_view edge;            // empty where it is not said
  std::string_view edge_session;    // the same
  std::optional<Address> measured;  // nothing where it is not said, or no address
  std::optional<Address> claimed;   // the same
  bool claim_trusted = false;       // what the gateway thinks of `claimed`

  // Of a header's fields, which must outlive what is returned.
  [[nodiscard]] static RavelinFields of(const TlvView& tlvs) noexcept {
    const auto address = [&tlvs](std::uint8_t type) {
      const auto text = tlvs.text(type);
      return text ? Address::parse(*text) : std::nullopt;
    };
    return {.edge = tlvs.text(kEdgeNameTlv).value_or(std::string_view()),
            .edge_session = tlvs.text(kEdgeSessionTlv).value_or(std::string_view()),
            .measured = address(kMeasuredTlv),
            .claimed = address(kClaimedTlv),
            .claim_trusted = tlvs.text(kClaimTrustedTlv) == std::string_view("1")};
  }
};

}  // namespace ppv2
