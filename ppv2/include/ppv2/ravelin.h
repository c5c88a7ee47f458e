// What Ravelin's own edges put into a PROXY v2 header beside the addresses, and its gateways read. Custom types, 0xE0 to
// 0xEF, have no meaning but between a sender and a receiver that agreed on them (proxy-protocol.txt section 2.2.8); 0xE1 is
// taken by none of the clouds' load balancers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ppv2 {

// The name of the edge that sent the header, UTF-8, as the edge's operator chose it. A claim like everything in a header.
constexpr std::uint8_t kEdgeNameTlv = 0xE1;
constexpr std::size_t kEdgeNameTlvMost = 64;  // bytes
// UNIQUE_ID (0x05) of such a header is the edge's session id as text: 32 lower-case hex digits, as in the edge's log.
constexpr std::size_t kSessionIdTextSize = 32;

}  // namespace ppv2
