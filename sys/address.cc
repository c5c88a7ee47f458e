#include "sys/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace ravelin::sys {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <class T>
std::optional<T> parse_number(std::string_view text, unsigned long most) {
  unsigned long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return static_cast<T>(value);
}

// inet_pton(3) is strict: no octal octets, no three-octet forms, no zone.
std::optional<SocketAddress> parse_host(std::string_view host, std::uint16_t port) {
  const std::string text(host);
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, text.c_str(), four.data()) == 1) return SocketAddress::ipv4(four, port);
  std::array<std::uint8_t, 16> sixteen{};
  if (::inet_pton(AF_INET6, text.c_str(), sixteen.data()) == 1) return SocketAddress::ipv6(sixteen, port);
  return std::nullopt;
}

struct HostAndPort {
  std::string_view host;
  std::uint16_t port = 0;
};

std::optional<HostAndPort> split_host_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1), 65535);
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) return HostAndPort{host.substr(1, host.size() - 2), *port};
  if (host.find(':') != std::string_view::npos) return std::nullopt;  // IPv6 without brackets: the port is a guess
  return HostAndPort{host, *port};
}

}  // namespace

SocketAddress SocketAddress::ipv4(std::array<std::uint8_t, 4> address, std::uint16_t port) {
  SocketAddress result{.family = AF_INET, .port = port};
  std::ranges::copy(address, result.bytes.begin());
  return result;
}

SocketAddress SocketAddress::ipv6(const std::array<std::uint8_t, 16>& address, std::uint16_t port) {
  if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), address.begin())) {
    return ipv4({address[12], address[13], address[14], address[15]}, port);
  }
  return SocketAddress{.family = AF_INET6, .port = port, .bytes = address};
}

SocketAddress SocketAddress::from(const sockaddr* address, socklen_t length) {
  switch (address->sa_family) {
    case AF_INET: {
      sockaddr_in in{};
      std::memcpy(&in, address, std::min<std::size_t>(length, sizeof in));
      std::array<std::uint8_t, 4> bytes{};
      std::memcpy(bytes.data(), &in.sin_addr, bytes.size());
      return ipv4(bytes, ntohs(in.sin_port));
    }
    case AF_INET6: {
      sockaddr_in6 in{};
      std::memcpy(&in, address, std::min<std::size_t>(length, sizeof in));
      std::array<std::uint8_t, 16> bytes{};
      std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
      SocketAddress result = ipv6(bytes, ntohs(in.sin6_port));
      if (result.family == AF_INET6) result.scope = in.sin6_scope_id;
      return result;
    }
    case AF_UNIX: {
      SocketAddress result{.family = AF_UNIX};
      const char* name = reinterpret_cast<const char*>(address) + offsetof(sockaddr_un, sun_path);
      const std::size_t size = length > offsetof(sockaddr_un, sun_path) ? length - offsetof(sockaddr_un, sun_path) : 0;
      if (size < 2 || name[0] != '\0' || size - 1 > result.bytes.size()) return result;
      result.scope = static_cast<std::uint32_t>(size - 1);
      std::memcpy(result.bytes.data(), name + 1, size - 1);
      return result;
    }
    default:
      return {};
  }
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view text) {
  const auto parts = split_host_port(text);
  return parts ? parse_host(parts->host, parts->port) : std::nullopt;
}

Result<SocketAddress> SocketAddress::local_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(fd, address, &length) != 0) return fail(errno, "getsockname");
  return from(address, length);
}

socklen_t SocketAddress::to(sockaddr_storage& storage) const {
  storage = {};
  storage.ss_family = family;
  switch (family) {
    case AF_INET: {
      auto& in = reinterpret_cast<sockaddr_in&>(storage);
      in.sin_port = htons(port);
      std::memcpy(&in.sin_addr, bytes.data(), 4);
      return sizeof in;
    }
    case AF_INET6: {
      auto& in = reinterpret_cast<sockaddr_in6&>(storage);
      in.sin6_port = htons(port);
      in.sin6_scope_id = scope;
      std::memcpy(&in.sin6_addr, bytes.data(), 16);
      return sizeof in;
    }
    case AF_UNIX: {
      auto& un = reinterpret_cast<sockaddr_un&>(storage);
      if (scope == 0) return offsetof(sockaddr_un, sun_path);
      std::memcpy(un.sun_path + 1, bytes.data(), scope);
      return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + scope);
    }
    default:
      return sizeof(sa_family_t);
  }
}

bool SocketAddress::is_loopback() const {
  constexpr std::array<std::uint8_t, 16> kSix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return family == AF_INET ? bytes[0] == 127 : family == AF_INET6 && bytes == kSix;
}

bool SocketAddress::is_wildcard() const {
  return is_ip() && std::ranges::all_of(ip(), [](std::uint8_t byte) { return byte == 0; });
}

std::string SocketAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (family) {
    case AF_INET:
    case AF_INET6:
      return ::inet_ntop(family, bytes.data(), text.data(), text.size());
    case AF_UNIX:
      return scope == 0 ? "unix:" : "unix:@" + std::string(reinterpret_cast<const char*>(bytes.data()), scope);
    default:
      return "unknown";
  }
}

std::string SocketAddress::text() const {
  switch (family) {
    case AF_INET:
      return fmt::format("{}:{}", host(), port);
    case AF_INET6:
      return fmt::format("[{}]:{}", host(), port);
    default:
      return host();
  }
}

std::optional<Cidr> Cidr::parse(std::string_view text) {
  const auto slash = text.find('/');
  const auto base = parse_host(text.substr(0, slash), 0);
  if (!base) return std::nullopt;
  const bool mapped = base->family == AF_INET && text.find(':') != std::string_view::npos;
  const unsigned width = base->family == AF_INET ? 32 : 128;
  Cidr result;
  result.base_ = *base;
  result.bits_ = width;
  if (slash != std::string_view::npos) {
    const auto bits = parse_number<unsigned>(text.substr(slash + 1), mapped ? 128 : width);
    if (!bits || (mapped && *bits < 96)) return std::nullopt;
    result.bits_ = mapped ? *bits - 96 : *bits;
  }
  return result;
}

bool Cidr::contains(const SocketAddress& address) const {
  if (address.family != base_.family) return false;
  const unsigned whole = bits_ / 8;
  if (!std::equal(base_.bytes.begin(), base_.bytes.begin() + whole, address.bytes.begin())) return false;
  const unsigned rest = bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((base_.bytes[whole] ^ address.bytes[whole]) & mask) == 0;
}

std::string Cidr::text() const {
  return fmt::format("{}/{}", base_.host(), bits_);
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.starts_with("unix:")) {
    Endpoint result{.path = std::string(text.substr(5))};
    sockaddr_storage storage{};
    if (result.path.empty()) return fail(0, "'{}' names no path, expected unix:PATH", text);
    if (auto length = unix_address(result.path, storage); !length) return tl::unexpected(length.error());
    return result;
  }
  const auto parts = split_host_port(text);
  if (!parts) return fail(0, "'{}' is not an address, expected HOST:PORT, [V6]:PORT, :PORT or unix:PATH", text);
  return Endpoint{.host = std::string(parts->host), .port = parts->port};
}

std::optional<SocketAddress> Endpoint::literal() const {
  return is_unix() ? std::nullopt : parse_host(host, port);
}

std::string Endpoint::text() const {
  if (is_unix()) return "unix:" + path;
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

Result<socklen_t> unix_address(std::string_view path, sockaddr_storage& storage) {
  auto& un = reinterpret_cast<sockaddr_un&>(storage);
  un = {};
  un.sun_family = AF_UNIX;
  const bool abstract = path.starts_with('@');
  if (path.size() >= sizeof un.sun_path) {
    return fail(ENAMETOOLONG, "'unix:{}' is too long for a socket path (107 bytes at most)", path);
  }
  std::ranges::copy(path, un.sun_path);
  if (abstract) un.sun_path[0] = '\0';
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
}

}  // namespace ravelin::sys
