// A local address that connections come from; the kernel chooses the port. Several of them multiply the ports toward
// one destination, of which an address has some 28,000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sys/address.h"

namespace ravelin::sys {

struct SourceAddress {
  SocketAddress address;

  // "127.0.0.2", "::1"; not the unspecified address, of which a server would not see the connection come.
  [[nodiscard]] static std::optional<SourceAddress> parse(std::string_view text);
  [[nodiscard]] std::string text() const { return address.host(); }
  bool operator==(const SourceAddress&) const = default;
};

// How many ports the kernel may choose from, toward one destination (ip(7), ip_local_port_range); its default of 28,232
// where that cannot be read.
[[nodiscard]] std::uint32_t local_port_count();

}  // namespace ravelin::sys
