#include "sys/source_address.h"

#include <fstream>

namespace ravelin::sys {

std::optional<SourceAddress> SourceAddress::parse(std::string_view text) {
  const auto address = Endpoint{.host = std::string(text)}.literal();
  if (!address || address->is_wildcard()) return std::nullopt;
  return SourceAddress{*address};
}

std::uint32_t local_port_count() {
  constexpr std::uint32_t kDefault = 28'232;
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  return file >> first >> last && first <= last ? last - first + 1 : kDefault;
}

}  // namespace ravelin::sys
