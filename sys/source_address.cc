#include "sys/source_address.h"

namespace ravelin::sys {

std::optional<SourceAddress> SourceAddress::parse(std::string_view text) {
  const auto address = Endpoint{.host = std::string(text)}.literal();
  if (!address || address->is_wildcard()) return std::nullopt;
  return SourceAddress{*address};
}

}  // namespace ravelin::sys
