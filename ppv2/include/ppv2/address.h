// The words of the PROXY protocol and one end of a connection as numbers. Values without owners or pointers, safe to
// copy into shared memory and to use from any thread; nothing here makes a system call.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ppv2/export.h"

namespace ppv2 {

// Which form of the protocol a header has: the line of section 2.1 or the binary header of section 2.2.
enum class Version : std::uint8_t {
  none = 0,  // no header
  v1 = 1,    // "PROXY TCP4 ..."
  v2 = 2,    // twelve bytes of signature, then numbers
};

// For whom the sender speaks; the low half of byte 13 (section 2.2).
enum class Command : std::uint8_t {
  local = 0,  // for itself, as in a health check
  proxy = 1,  // for a client; every v1 line is one
};

// What kind of addresses a header has; the high half of byte 14 (section 2.2).
enum class Family : std::uint8_t {
  unspec = 0,       // none
  inet = 1,         // IPv4
  inet6 = 2,        // IPv6
  unix_domain = 3,  // Unix sockets
};

// What the client's connection is made of; the low half of byte 14 (section 2.2).
enum class Transport : std::uint8_t {
  unspec = 0,  // not said
  stream = 1,  // TCP, or a Unix stream
  dgram = 2,   // UDP, or Unix datagrams
};

[[nodiscard]] PPV2_EXPORT std::string_view name(Command value) noexcept;    // "LOCAL", "PROXY"
[[nodiscard]] PPV2_EXPORT std::string_view name(Family value) noexcept;     // "UNSPEC", "INET", "INET6", "UNIX"
[[nodiscard]] PPV2_EXPORT std::string_view name(Transport value) noexcept;  // "UNSPEC", "STREAM", "DGRAM"

// Long enough for every text() below.
constexpr std::size_t kAddressTextSize = 56;

// An IP address and port, in 20 bytes. Of Unix addresses only short abstract names are kept here (the kernel's
// autobound names have five characters); the 108-byte paths of a header stay where they are, see Claim::source_path().
struct Address {
  Family family = Family::unspec;        // which of the fields below mean something
  std::uint8_t name_length = 0;          // unix_domain: length of the abstract name in `bytes`
  std::uint16_t port = 0;                // inet, inet6: in host order
  std::array<std::uint8_t, 16> bytes{};  // inet: the first four; inet6: all; unix_domain: the name. The rest is zero

  // Four bytes in network order, and a port in host order.
  [[nodiscard]] PPV2_EXPORT static Address ipv4(const std::array<std::uint8_t, 4>& bytes, std::uint16_t port) noexcept;
  // Sixteen bytes in network order, and a port in host order.
  [[nodiscard]] PPV2_EXPORT static Address ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port) noexcept;
  // What accept4(), getsockname() and their like gave: unspec for null and for families that the protocol does not
  // know. The IPv6 zone is dropped: no header can carry it.
  [[nodiscard]] PPV2_EXPORT static Address from(const sockaddr* address, socklen_t length) noexcept;
  // "192.0.2.1:443", "[2001:db8::1]:443", "@0001f"; strict, no names, no zones.
  [[nodiscard]] PPV2_EXPORT static std::optional<Address> parse(std::string_view text) noexcept;

  // Fills `storage` and returns its length; the bare family for a Unix address without a name, 0 for unspec.
  PPV2_EXPORT socklen_t to(sockaddr_storage& storage) const noexcept;
  // Writes the form that parse() reads ("unspec" and "unix" where there is none) and returns what was written.
  PPV2_EXPORT std::string_view text(std::span<char, kAddressTextSize> out) const noexcept;
  // The same without port and brackets.
  PPV2_EXPORT std::string_view host(std::span<char, kAddressTextSize> out) const noexcept;

  // IPv4 or IPv6.
  [[nodiscard]] bool is_ip() const noexcept { return family == Family::inet || family == Family::inet6; }
  // ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), as dual-stack sockets show their IPv4 peers.
  [[nodiscard]] PPV2_EXPORT bool is_v4_mapped() const noexcept;
  // ::ffff:a.b.c.d as IPv4, everything else as it is: the form in which claimed and measured addresses compare.
  [[nodiscard]] PPV2_EXPORT Address unmapped() const noexcept;
  // IPv4 as ::ffff:a.b.c.d, everything else as it is.
  [[nodiscard]] PPV2_EXPORT Address mapped() const noexcept;

  // Field by field: a mapped address is not its IPv4 form.
  bool operator==(const Address&) const = default;
};
static_assert(sizeof(Address) == 20);

}  // namespace ppv2
