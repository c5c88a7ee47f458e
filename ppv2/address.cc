#include "ppv2/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ppv2/ip_text.h"

namespace ppv2 {
namespace {

constexpr std::string_view kCommands[] = {"LOCAL", "PROXY"};
constexpr std::string_view kFamilies[] = {"UNSPEC", "INET", "INET6", "UNIX"};
constexpr std::string_view kTransports[] = {"UNSPEC", "STREAM", "DGRAM"};
constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

std::size_t append(char* out, std::size_t at, std::string_view text) noexcept {
  std::memcpy(out + at, text.data(), text.size());
  return at + text.size();
}

std::size_t append_number(char* out, std::size_t at, unsigned number) noexcept {
  char digits[5];
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count != 0) out[at++] = digits[--count];
  return at;
}

}  // namespace

std::string_view name(Command value) noexcept {
  return kCommands[static_cast<std::size_t>(value) & 1];
}
std::string_view name(Family value) noexcept {
  return kFamilies[static_cast<std::size_t>(value) & 3];
}
std::string_view name(Transport value) noexcept {
  return kTransports[std::min<std::size_t>(static_cast<std::size_t>(value), 2)];
}

Address Address::ipv4(const std::array<std::uint8_t, 4>& bytes, std::uint16_t port) noexcept {
  Address address{.family = Family::inet, .port = port};
  std::memcpy(address.bytes.data(), bytes.data(), bytes.size());
  return address;
}

Address Address::ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port) noexcept {
  return {.family = Family::inet6, .port = port, .bytes = bytes};
}

Address Address::from(const sockaddr* address, socklen_t length) noexcept {
  Address result;
  if (address == nullptr || length < sizeof(sa_family_t)) return result;
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    result.family = Family::inet;
    result.port = ntohs(in.sin_port);
    std::memcpy(result.bytes.data(), &in.sin_addr, 4);
  } else if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in6;
    std::memcpy(&in6, address, sizeof in6);
    result.family = Family::inet6;
    result.port = ntohs(in6.sin6_port);
    std::memcpy(result.bytes.data(), &in6.sin6_addr, 16);
  } else if (address->sa_family == AF_UNIX) {
    result.family = Family::unix_domain;
    const char* const path = reinterpret_cast<const char*>(address) + offsetof(sockaddr_un, sun_path);
    const std::size_t size = length - offsetof(sockaddr_un, sun_path);
    if (size > 1 && size <= 1 + result.bytes.size() && path[0] == '\0') {
      result.name_length = static_cast<std::uint8_t>(size - 1);
      std::memcpy(result.bytes.data(), path + 1, size - 1);
    }
  }
  return result;
}

std::optional<Address> Address::parse(std::string_view text) noexcept {
  Address address;
  if (text.empty() || text.size() >= kAddressTextSize) return std::nullopt;
  if (text.front() == '@') {
    text.remove_prefix(1);
    if (text.empty() || text.size() > address.bytes.size()) return std::nullopt;
    address.family = Family::unix_domain;
    address.name_length = static_cast<std::uint8_t>(text.size());
    std::memcpy(address.bytes.data(), text.data(), text.size());
    return address;
  }
  char copy[kAddressTextSize] = {};  // the readers need a byte behind the number
  std::memcpy(copy, text.data(), text.size());
  const char* at = copy;
  const char* const end = copy + text.size() + 1;
  if (*at == '[') {
    ++at;
    address.family = Family::inet6;
    if (read_ipv6(at, end, address.bytes.data()) != Read::ok || *at != ']') return std::nullopt;
    ++at;
  } else {
    address.family = Family::inet;
    if (read_ipv4(at, end, address.bytes.data()) != Read::ok) return std::nullopt;
  }
  if (*at != ':') return std::nullopt;
  ++at;
  if (read_port(at, end, address.port) != Read::ok || at != end - 1) return std::nullopt;
  return address;
}

socklen_t Address::to(sockaddr_storage& storage) const noexcept {
  std::memset(&storage, 0, sizeof storage);
  switch (family) {
    case Family::inet: {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_port = htons(port);
      std::memcpy(&in.sin_addr, bytes.data(), 4);
      std::memcpy(&storage, &in, sizeof in);
      return sizeof in;
    }
    case Family::inet6: {
      sockaddr_in6 in6{};
      in6.sin6_family = AF_INET6;
      in6.sin6_port = htons(port);
      std::memcpy(&in6.sin6_addr, bytes.data(), 16);
      std::memcpy(&storage, &in6, sizeof in6);
      return sizeof in6;
    }
    case Family::unix_domain: {
      storage.ss_family = AF_UNIX;
      if (name_length == 0) return sizeof(sa_family_t);
      const std::size_t length = std::min<std::size_t>(name_length, bytes.size());
      std::memcpy(reinterpret_cast<char*>(&storage) + offsetof(sockaddr_un, sun_path) + 1, bytes.data(), length);
      return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    }
    case Family::unspec:
      break;
  }
  return 0;
}

std::string_view Address::host(std::span<char, kAddressTextSize> out) const noexcept {
  std::size_t size = 0;
  if (family == Family::inet) {
    for (std::size_t i = 0; i < 4; ++i) {
      size = append_number(out.data(), size, bytes[i]);
      if (i != 3) out[size++] = '.';
    }
    return {out.data(), size};
  }
  if (family == Family::inet6) {
    inet_ntop(AF_INET6, bytes.data(), out.data(), kAddressTextSize);
    return {out.data(), std::strlen(out.data())};
  }
  if (family == Family::unix_domain && name_length != 0) {
    out[size++] = '@';
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    size = append(out.data(), size, {text, std::min<std::size_t>(name_length, bytes.size())});
  } else {
    size = append(out.data(), size, family == Family::unix_domain ? "unix" : "unspec");
  }
  return {out.data(), size};
}

std::string_view Address::text(std::span<char, kAddressTextSize> out) const noexcept {
  if (!is_ip()) return host(out);
  char digits[kAddressTextSize];
  const std::string_view address = host(digits);
  std::size_t size = 0;
  if (family == Family::inet6) out[size++] = '[';
  size = append(out.data(), size, address);
  if (family == Family::inet6) out[size++] = ']';
  out[size++] = ':';
  return {out.data(), append_number(out.data(), size, port)};
}

bool Address::is_v4_mapped() const noexcept {
  return family == Family::inet6 && std::memcmp(bytes.data(), kMappedPrefix, sizeof kMappedPrefix) == 0;
}

Address Address::unmapped() const noexcept {
  if (!is_v4_mapped()) return *this;
  return ipv4({bytes[12], bytes[13], bytes[14], bytes[15]}, port);
}

Address Address::mapped() const noexcept {
  if (family != Family::inet) return *this;
  Address address{.family = Family::inet6, .port = port};
  std::memcpy(address.bytes.data(), kMappedPrefix, sizeof kMappedPrefix);
  std::memcpy(address.bytes.data() + 12, bytes.data(), 4);
  return address;
}

}  // namespace ppv2
