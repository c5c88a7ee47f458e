// A local address that connections come from; the kernel chooses the port. Several of them multiply the ports toward
// one destination, of which an address has some 28,000.
#pragma once

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

}  // namespace ravelin::sys
