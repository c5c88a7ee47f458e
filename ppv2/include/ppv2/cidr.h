// A range of addresses, to say which sources may speak for others. A value, safe in any thread; nothing here makes a
// system call. The address to ask about is the measured one, as accept4() gave it (see policy.h):
//
//   const auto proxies = ppv2::Cidr::parse("10.0.0.0/8");
//   ppv2::Sniffer sniffer({.policy = ppv2::Policy::sniff}, proxies->contains(measured));
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ppv2/address.h"
#include "ppv2/export.h"

namespace ppv2 {

// The addresses that share their leading bits with `base`.
struct Cidr {
  Address base;           // IPv4 or IPv6, never a mapped one; its port means nothing
  std::uint8_t bits = 0;  // how many of its leading bits count

  // "192.0.2.0/24", "2001:db8::/32", or an address alone for itself. ::ffff:192.0.2.0/120 is 192.0.2.0/24.
  [[nodiscard]] PPV2_EXPORT static std::optional<Cidr> parse(std::string_view text) noexcept;
  // A mapped IPv6 address, as dual-stack listeners see their IPv4 clients, is looked for as IPv4. Never true for what
  // is no IP address.
  [[nodiscard]] PPV2_EXPORT bool contains(const Address& address) const noexcept;
};

// True if one of `ranges` does.
[[nodiscard]] PPV2_EXPORT bool contains(std::span<const Cidr> ranges, const Address& address) noexcept;

}  // namespace ppv2
