// Reads the PROXY protocol header at the start of a stream, v1 and v2 (proxy-protocol.txt sections 2.1 and 2.2). A pure
// function over bytes the caller owns: no state, no I/O, no clock, no allocation, any thread. Call it again with the
// same bytes and more behind them until it decides:
//
//   std::array<std::byte, 4096> seen;
//   const ssize_t n = recv(fd, seen.data(), seen.size(), MSG_PEEK);
//   const ppv2::Decoded d = ppv2::decode({seen.data(), static_cast<std::size_t>(n)});
//   if (d.outcome == ppv2::Outcome::header) consume(fd, d.header_length);  // d.claim views `seen`
//
// A claim is what the bytes say. Whether it counts is decided by who sent it: see policy.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ppv2/address.h"
#include "ppv2/export.h"
#include "ppv2/tlv.h"

namespace ppv2 {

enum class Outcome : std::uint8_t {
  need_more,  // every byte so far could begin a header
  header,     // a whole, valid header
  not_proxy,  // a byte differs from every signature that is looked for
  reject,     // begins like a header and cannot become a valid one
};

// What the stream carries behind the header, or from its start for not_proxy; judged on the bytes seen so far.
enum class Kind : std::uint8_t { none, tls, http1, h2c, other };

enum class Reason : std::uint8_t {
  none,
  version_not_allowed,
  bad_version,
  bad_command,
  bad_family,
  bad_transport,
  header_too_long,
  address_truncated,
  tlv_truncated,
  tlv_overrun,
  unique_id_too_long,
  ssl_too_short,
  ssl_tlv_overrun,
  crc_length,
  crc_twice,
  crc_mismatch,
  crc_missing,
  v1_space,
  v1_family,
  v1_address,
  v1_port,
  v1_line_end,
  v1_too_long,
  // Of the policy, not of the bytes:
  header_required,
  header_forbidden,
  source_not_trusted,
  timed_out,
  closed,
};
constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::closed) + 1;

enum class Crc : std::uint8_t { ignore, if_present, required };

struct DecodeOptions {
  std::uint32_t max_header = 4096;  // a longer v2 header is refused as soon as its length is read, at byte 16
  bool v1 = true;                   // a v1 line that is not looked for is not_proxy
  bool v2 = true;                   // a v2 signature that is not allowed is rejected: nothing else begins like it
  bool v4_in_tcp6 = false;  // take "PROXY TCP6 2001:db8::7 192.0.2.1 ..." as some senders write it, as mapped IPv6
  Crc crc = Crc::if_present;
};

enum class CrcState : std::uint8_t { absent, verified, unchecked };

constexpr std::size_t kV1MaxLine = 107;
constexpr std::size_t kV2FixedSize = 16;
constexpr std::size_t kUnixPathSize = 108;

// What a header says. No addresses with LOCAL, UNSPEC and UNKNOWN: then only the measured ones exist.
struct Claim {
  Version version = Version::none;
  Command command = Command::local;
  Family family = Family::unspec;  // of a LOCAL header: as sent where it is defined, else unspec
  Transport transport = Transport::unspec;
  CrcState crc = CrcState::absent;
  Address source;
  Address destination;
  const std::byte* unix_paths = nullptr;  // 108 + 108 bytes in the caller's buffer, for unix_domain
  TlvView tlvs;

  [[nodiscard]] bool has_addresses() const noexcept { return source.family != Family::unspec; }
  // All 108 bytes, not always ended by NUL; a first byte of NUL is a Linux abstract name, or no name if all are NUL.
  [[nodiscard]] Bytes source_path() const noexcept { return {unix_paths, unix_paths ? kUnixPathSize : 0}; }
  [[nodiscard]] Bytes destination_path() const noexcept {
    return unix_paths ? Bytes{unix_paths + kUnixPathSize, kUnixPathSize} : Bytes{};
  }
};

struct Decoded {
  Outcome outcome = Outcome::need_more;
  Reason reason = Reason::none;     // reject
  Kind kind = Kind::none;           // header, not_proxy
  Version version = Version::none;  // which signature is certain: also for need_more and reject
  std::uint32_t offset = 0;         // reject: the byte at fault. need_more: the bytes seen
  std::uint32_t header_length = 0;  // header: what to consume
  std::uint32_t wanted = 0;         // need_more: no decision can fall before this many bytes, for SO_RCVLOWAT
  Claim claim;                      // header
};

[[nodiscard]] PPV2_EXPORT Decoded decode(Bytes bytes, const DecodeOptions& options = {}) noexcept;

// What a stream that begins with these bytes looks like. A prefix counts as what it may still become.
[[nodiscard]] PPV2_EXPORT Kind classify(Bytes bytes) noexcept;

[[nodiscard]] PPV2_EXPORT std::string_view name(
    Outcome value) noexcept;                                             // "need_more", "header", "not_proxy", "reject"
[[nodiscard]] PPV2_EXPORT std::string_view name(Kind value) noexcept;    // "none", "tls", "http1", "h2c", "other"
[[nodiscard]] PPV2_EXPORT std::string_view name(Reason value) noexcept;  // "crc_mismatch": for metrics and JSON
[[nodiscard]] PPV2_EXPORT std::string_view text(Reason value) noexcept;  // a sentence for people

}  // namespace ppv2
