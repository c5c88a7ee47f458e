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

enum class Version : std::uint8_t { none = 0, v1 = 1, v2 = 2 };
enum class Command : std::uint8_t { local = 0, proxy = 1 };
enum class Family : std::uint8_t { unspec = 0, inet = 1, inet6 = 2, unix_domain = 3 };
enum class Transport : std::uint8_t { unspec = 0, stream = 1, dgram = 2 };

[[nodiscard]] PPV2_EXPORT std::string_view name(Command value) noexcept;    // "LOCAL", "PROXY"
[[nodiscard]] PPV2_EXPORT std::string_view name(Family value) noexcept;     // "UNSPEC", "INET", "INET6", "UNIX"
[[nodiscard]] PPV2_EXPORT std::string_view name(Transport value) noexcept;  // "UNSPEC", "STREAM", "DGRAM"

// Long enough for every text() below.
constexpr std::size_t kAddressTextSize = 56;

// An IP address and port, in 20 bytes. Of Unix addresses only short abstract names are kept here (the kernel's
// autobound names have five characters); the 108-byte paths of a header stay where they are, see Claim::source_path().
struct Address {
  Family family = Family::unspec;
  std::uint8_t name_length = 0;  // unix_domain: length of the abstract name in `bytes`
  std::uint16_t port = 0;        // host order
  std::array<std::uint8_t, 16> bytes{};

  [[nodiscard]] PPV2_EXPORT static Address ipv4(const std::array<std::uint8_t, 4>& bytes, std::uint16_t port) noexcept;
  [[nodiscard]] PPV2_EXPORT static Address ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port) noexcept;
  // unspec for null and for families that the protocol does not know. The IPv6 zone is dropped: no header can carry it.
  [[nodiscard]] PPV2_EXPORT static Address from(const sockaddr* address, socklen_t length) noexcept;
  // "192.0.2.1:443", "[2001:db8::1]:443", "@0001f"; strict, no names, no zones.
  [[nodiscard]] PPV2_EXPORT static std::optional<Address> parse(std::string_view text) noexcept;

  // Fills `storage` and returns its length; the bare family for a Unix address without a name, 0 for unspec.
  PPV2_EXPORT socklen_t to(sockaddr_storage& storage) const noexcept;
  // Writes the form that parse() reads ("unspec" and "unix" where there is none) and returns what was written.
  PPV2_EXPORT std::string_view text(std::span<char, kAddressTextSize> out) const noexcept;
  PPV2_EXPORT std::string_view host(std::span<char, kAddressTextSize> out) const noexcept;  // without port and brackets

  [[nodiscard]] bool is_ip() const noexcept { return family == Family::inet || family == Family::inet6; }
  [[nodiscard]] PPV2_EXPORT bool is_v4_mapped() const noexcept;
  // ::ffff:a.b.c.d as IPv4, everything else as it is: the form in which claimed and measured addresses compare.
  [[nodiscard]] PPV2_EXPORT Address unmapped() const noexcept;
  [[nodiscard]] PPV2_EXPORT Address mapped() const noexcept;  // and back

  bool operator==(const Address&) const = default;
};
static_assert(sizeof(Address) == 20);

}  // namespace ppv2
