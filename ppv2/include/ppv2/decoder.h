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

// What the bytes are. Once it is not need_more, no byte behind them changes it.
enum class Outcome : std::uint8_t {
  need_more,  // every byte so far could begin a header
  header,     // a whole, valid header
  not_proxy,  // a byte differs from every signature that is looked for
  reject,     // begins like a header and cannot become a valid one
};

// What the stream carries behind the header, or from its start for not_proxy; judged on the bytes seen so far.
enum class Kind : std::uint8_t {
  none,   // no byte yet
  tls,    // a ClientHello (RFC 8446 section 5.1)
  http1,  // a request line (RFC 9112 section 3)
  h2c,    // HTTP/2's preface without TLS (RFC 9113 section 3.4)
  other,  // none of these
};

// Why a header is refused, or a connection. The numbers are part of the ABI, and new ones are added at the end.
enum class Reason : std::uint8_t {
  none,                 // nothing is wrong
  version_not_allowed,  // a v2 signature where DecodeOptions::v2 is false
  bad_version,          // the high half of byte 13 is not 2 (2.2)
  bad_command,          // neither LOCAL nor PROXY (2.2: "must drop")
  bad_family,           // over 3 (2.2: "must be rejected")
  bad_transport,        // over 2 (2.2)
  header_too_long,      // over DecodeOptions::max_header
  address_truncated,    // the declared length is shorter than the family's addresses (2.2)
  tlv_truncated,        // one or two bytes are left where a TLV would begin (2.2)
  tlv_overrun,          // a TLV goes past the end of the header (2.2)
  unique_id_too_long,   // over 128 bytes (2.2.5)
  ssl_too_short,        // under the five fixed bytes (2.2.6)
  ssl_tlv_overrun,      // a field inside the SSL TLV goes past its end (2.2.6)
  crc_length,           // a CRC32C that is not four bytes (2.2.3)
  crc_twice,            // two CRC32C: one cannot be zero while the other is computed
  crc_mismatch,         // the header's bytes are not those that the sum was made of (2.2.3)
  crc_missing,          // none, where DecodeOptions::crc is Crc::required
  v1_space,             // PROXY without one space behind it (2.1)
  v1_family,            // none of TCP4, TCP6, UNKNOWN (2.1)
  v1_address,           // not an address of the line's family in its strict form (2.1)
  v1_port,              // not a port from 0 to 65535 without leading zeros (2.1)
  v1_line_end,          // no CR LF behind the second port (2.1)
  v1_too_long,          // no CR LF within 107 bytes (2.1)
  header_required,      // of the policy: there is none
  header_forbidden,     // of the policy: there is one
  source_not_trusted,   // of the policy: the sender may not speak for others
  timed_out,            // of the policy: the deadline passed before the decision
  closed,               // of the policy: the peer closed before its header was whole
};
constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::closed) + 1;  // for tables by reason

// What becomes of the CRC32C field (2.2.3), which lies in network order.
enum class Crc : std::uint8_t {
  ignore,      // not looked at
  if_present,  // checked where there is one
  required,    // a v2 PROXY header without one is refused
};

// What a listener takes. The defaults are those of a careful one.
struct DecodeOptions {
  std::uint32_t max_header = 4096;  // a longer v2 header is refused as soon as its length is read, at byte 16
  bool v1 = true;                   // a v1 line that is not looked for is not_proxy
  bool v2 = true;                   // a v2 signature that is not allowed is rejected: nothing else begins like it
  bool v4_in_tcp6 = false;    // take "PROXY TCP6 2001:db8::7 192.0.2.1 ..." as some senders write it, as mapped IPv6
  Crc crc = Crc::if_present;  // what becomes of the checksum
};

// What is known of a header's checksum.
enum class CrcState : std::uint8_t {
  absent,     // there is none
  verified,   // it fits
  unchecked,  // there is one, and Crc::ignore
};

constexpr std::size_t kV1MaxLine = 107;     // bytes, with CR LF (2.1)
constexpr std::size_t kV2FixedSize = 16;    // bytes in front of the addresses (2.2)
constexpr std::size_t kUnixPathSize = 108;  // bytes of each path of Family::unix_domain (2.2)

// What a header says. No addresses with LOCAL, UNSPEC and UNKNOWN: then only the measured ones exist.
struct Claim {
  Version version = Version::none;          // none: nothing was claimed
  Command command = Command::local;         // for whom the sender speaks
  Family family = Family::unspec;           // of a LOCAL header: as sent where it is defined, else unspec
  Transport transport = Transport::unspec;  // the same
  CrcState crc = CrcState::absent;          // what is known of the checksum
  Address source;                           // the client; for unix_domain its family alone, see source_path()
  Address destination;                      // whom the client connected to
  const std::byte* unix_paths = nullptr;    // 108 + 108 bytes in the caller's buffer, for unix_domain
  TlvView tlvs;                             // the fields, in the caller's buffer

  // False for LOCAL, UNKNOWN and UNSPEC: use the measured addresses.
  [[nodiscard]] bool has_addresses() const noexcept { return source.family != Family::unspec; }
  // All 108 bytes, not always ended by NUL; a first byte of NUL is a Linux abstract name, or no name if all are NUL.
  [[nodiscard]] Bytes source_path() const noexcept { return {unix_paths, unix_paths ? kUnixPathSize : 0}; }
  // The other one, in the same form.
  [[nodiscard]] Bytes destination_path() const noexcept {
    return unix_paths ? Bytes{unix_paths + kUnixPathSize, kUnixPathSize} : Bytes{};
  }
};

// What decode() found. The comment of a field names the outcomes for which it means something.
struct Decoded {
  Outcome outcome = Outcome::need_more;  // what the bytes are
  Reason reason = Reason::none;          // reject
  Kind kind = Kind::none;                // header, not_proxy
  Version version = Version::none;       // which signature is certain: also for need_more and reject
  std::uint32_t offset = 0;              // reject: the byte at fault. need_more: the bytes seen
  std::uint32_t header_length = 0;       // header: what to consume
  std::uint32_t wanted = 0;              // need_more: no decision can fall before this many bytes, for SO_RCVLOWAT
  Claim claim;                           // header
};

// Decides on `bytes`, the stream from its start, as early as a byte allows: at the first one that no valid header has
// in its place. What it returns views `bytes`. Never fails otherwise, and reads no byte behind the header but to
// classify.
[[nodiscard]] PPV2_EXPORT Decoded decode(Bytes bytes, const DecodeOptions& options = {}) noexcept;

// What a stream that begins with these bytes looks like. A prefix counts as what it may still become.
[[nodiscard]] PPV2_EXPORT Kind classify(Bytes bytes) noexcept;

[[nodiscard]] PPV2_EXPORT std::string_view name(
    Outcome value) noexcept;                                             // "need_more", "header", "not_proxy", "reject"
[[nodiscard]] PPV2_EXPORT std::string_view name(Kind value) noexcept;    // "none", "tls", "http1", "h2c", "other"
[[nodiscard]] PPV2_EXPORT std::string_view name(Reason value) noexcept;  // "crc_mismatch": for metrics and JSON
[[nodiscard]] PPV2_EXPORT std::string_view text(Reason value) noexcept;  // a sentence for people

}  // namespace ppv2
