// Socket addresses, as numbers and as an operator writes them.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sys/result.h"

namespace ravelin::sys {

// The address of one end of a socket in 24 bytes, so that it fits a fixed record in shared memory.
// An IPv4 address that arrived on a dual-stack socket (::ffff:a.b.c.d) is folded to AF_INET, so that one machine has
// one spelling everywhere. Of Unix addresses only short abstract names are kept (the kernel's autobound names have five
// characters); others are AF_UNIX without a name.
struct SocketAddress {
  std::uint16_t family = AF_UNSPEC;  // AF_UNSPEC, AF_INET, AF_INET6 or AF_UNIX
  std::uint16_t port = 0;            // host order
  std::uint32_t scope = 0;           // IPv6 zone index; for AF_UNIX the length of the abstract name
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] static SocketAddress from(const sockaddr* address, socklen_t length);
  [[nodiscard]] static SocketAddress ipv4(std::array<std::uint8_t, 4> address, std::uint16_t port);
  [[nodiscard]] static SocketAddress ipv6(const std::array<std::uint8_t, 16>& address, std::uint16_t port);
  // "192.0.2.1:443", "[2001:db8::1]:443"; no names.
  [[nodiscard]] static std::optional<SocketAddress> parse(std::string_view text);
  [[nodiscard]] static Result<SocketAddress> local_of(int fd);

  // Fills `storage` and returns its length. Unix addresses without a name give the bare family.
  socklen_t to(sockaddr_storage& storage) const;
  [[nodiscard]] std::string text() const;  // "192.0.2.1:443", "[2001:db8::1]:443", "unix:@0001f", "unknown"
  [[nodiscard]] std::string host() const;  // "192.0.2.1", "2001:db8::1"
  [[nodiscard]] bool is_loopback() const;  // 127.0.0.0/8 or ::1
  [[nodiscard]] bool is_wildcard() const;  // 0.0.0.0 or ::
  [[nodiscard]] bool is_ip() const { return family == AF_INET || family == AF_INET6; }
  [[nodiscard]] std::span<const std::uint8_t> ip() const { return {bytes.data(), family == AF_INET ? 4U : 16U}; }

  bool operator==(const SocketAddress&) const = default;
};
static_assert(sizeof(SocketAddress) == 24);

// A range of addresses, "203.0.113.0/24" or "2001:db8::/32"; a bare address is a range of one.
class Cidr {
 public:
  [[nodiscard]] static std::optional<Cidr> parse(std::string_view text);
  [[nodiscard]] bool contains(const SocketAddress& address) const;
  [[nodiscard]] std::string text() const;
  bool operator==(const Cidr&) const = default;

 private:
  SocketAddress base_;
  unsigned bits_ = 0;
};

// Where to listen or connect, as written: HOST:PORT, [V6]:PORT, :PORT (both families), unix:PATH (unix:@NAME is
// abstract).
struct Endpoint {
  std::string host;  // a name or a literal; empty for :PORT and for unix
  std::uint16_t port = 0;
  std::string path;  // not empty for unix

  [[nodiscard]] static Result<Endpoint> parse(std::string_view text);
  [[nodiscard]] bool is_unix() const { return !path.empty(); }
  // The address if the host is a literal; nothing if it has to be resolved.
  [[nodiscard]] std::optional<SocketAddress> literal() const;
  [[nodiscard]] std::string text() const;
  bool operator==(const Endpoint&) const = default;
};

// A sockaddr_un for `path` ("@NAME" is abstract) in `storage`; fails with ENAMETOOLONG past 107 bytes.
[[nodiscard]] Result<socklen_t> unix_address(std::string_view path, sockaddr_storage& storage);

}  // namespace ravelin::sys
