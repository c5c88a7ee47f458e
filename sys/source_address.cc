#include "sys/source_address.h"

#include <algorithm>

namespace ravelin::sys {

std::optional<SourceAddress> SourceAddress::parse(std::string_view text) {
  const auto address = Endpoint{.host = std::string(text)}.literal();
  if (!address || std::ranges::all_of(address->ip(), [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
  return SourceAddress{*address};
}

}  // namespace ravelin::sys
