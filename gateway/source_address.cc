#include "gateway/source_address.h"

#include <algorithm>
#include <array>

namespace ravelin::gateway {

std::optional<SourceAddress> SourceAddress::parse(std::string_view text) {
  const auto address = sys::Endpoint{.host = std::string(text)}.literal();
  if (!address || std::ranges::all_of(address->ip(), [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
  return SourceAddress{*address};
}

bool is_loopback(const sys::SocketAddress& address) {
  constexpr std::array<std::uint8_t, 16> kSix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.family == AF_INET ? address.bytes[0] == 127 : address.family == AF_INET6 && address.bytes == kSix;
}

}  // namespace ravelin::gateway
