#include "ppv2/cidr.h"

#include <cstring>

#include "ppv2/ip_text.h"

namespace ppv2 {
namespace {

constexpr std::size_t kTextMost = sizeof "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128";
constexpr unsigned kMappedBits = 96;  // of ::ffff:0:0/96

// The readers want a byte behind the number that they can judge.
constexpr char kEnd = '\0';

}  // namespace

std::optional<Cidr> Cidr::parse(std::string_view text) noexcept {
  char copy[kTextMost + 1] = {};
  if (text.size() > kTextMost || text.find(kEnd) != std::string_view::npos) return std::nullopt;
  std::memcpy(copy, text.data(), text.size());
  const char* at = copy;
  const char* const end = copy + text.size() + 1;
  Cidr cidr;
  const bool ipv6 = text.find(':') != std::string_view::npos;
  cidr.base.family = ipv6 ? Family::inet6 : Family::inet;
  std::uint8_t* const bytes = cidr.base.bytes.data();
  if ((ipv6 ? read_ipv6(at, end, bytes) : read_ipv4(at, end, bytes)) != Read::ok) return std::nullopt;
  const unsigned width = ipv6 ? 128 : 32;
  unsigned bits = width;
  if (*at == '/') {
    std::uint16_t number = 0;
    if (read_port(++at, end, number) != Read::ok || number > width) return std::nullopt;
    bits = number;
  }
  if (at != end - 1) return std::nullopt;
  if (cidr.base.is_v4_mapped()) {
    if (bits < kMappedBits) return std::nullopt;  // it would hold other addresses as well
    cidr.base = cidr.base.unmapped();
    bits -= kMappedBits;
  }
  cidr.bits = static_cast<std::uint8_t>(bits);
  return cidr;
}

bool Cidr::contains(const Address& address) const noexcept {
  const Address asked = address.unmapped();
  const unsigned width = base.family == Family::inet ? 32 : 128;
  if (!asked.is_ip() || asked.family != base.family || bits > width) return false;
  const std::size_t whole = bits / 8;
  if (std::memcmp(base.bytes.data(), asked.bytes.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (base.bytes[whole] ^ asked.bytes[whole]) >> (8 - rest) == 0;
}

bool contains(std::span<const Cidr> ranges, const Address& address) noexcept {
  for (const Cidr& range : ranges)
    if (range.contains(address)) return true;
  return false;
}

}  // namespace ppv2
