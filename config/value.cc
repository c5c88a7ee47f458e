#include "config/value.h"

#include "config/error.h"

namespace ravelin::config {

sys::Result<bool> Value<bool>::parse(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return sys::fail(0, "'{}' is neither true nor false, expected one of them", text);
}

sys::Result<std::string> Value<std::string>::parse(std::string_view text) {
  if (find_unprintable(text) != text.npos || text.find_first_of("\t\r\n") != text.npos) {
    return sys::fail(0, "'{}' is not plain text, expected one line of printable UTF-8", text);
  }
  return std::string(text);
}

sys::Result<sys::Endpoint> Value<sys::Endpoint>::parse(std::string_view text) {
  if (find_unprintable(text) != text.npos) {
    return sys::fail(0, "'{}' is not an address, expected {}", text, expected().substr(expected().find(':') + 2));
  }
  return sys::Endpoint::parse(text);
}

sys::Result<sys::Cidr> Value<sys::Cidr>::parse(std::string_view text) {
  const auto range = sys::Cidr::parse(text);
  if (!range)
    return sys::fail(0, "'{}' is not an address range, expected one such as 203.0.113.0/24 or 2001:db8::/32", text);
  return *range;
}

sys::Result<sys::SourceAddress> Value<sys::SourceAddress>::parse(std::string_view text) {
  if (const auto source = sys::SourceAddress::parse(text)) return *source;
  return sys::fail(0, "'{}' is not an address to come from, expected one such as 127.0.0.2 or ::1", text);
}

}  // namespace ravelin::config
