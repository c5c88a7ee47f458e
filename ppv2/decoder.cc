#include "ppv2/decoder.h"

#include <algorithm>
#include <cstring>

#include "ppv2/decode.h"
#include "ppv2/kind.h"
#include "ppv2/wire.h"

namespace ppv2 {
namespace {

struct ReasonWords {
  std::string_view name;
  std::string_view text;
};

constexpr ReasonWords kReasons[] = {
    {"none", "nothing is wrong"},
    {"version_not_allowed", "this version of the protocol is not allowed here"},
    {"bad_version", "the version must be 2"},
    {"bad_command", "the command is neither LOCAL nor PROXY"},
    {"bad_family", "the address family is not defined"},
    {"bad_transport", "the transport is not defined"},
    {"header_too_long", "the header is longer than the limit"},
    {"address_truncated", "the declared length is shorter than the family's addresses"},
    {"tlv_truncated", "the header ends inside the three bytes that begin a TLV"},
    {"tlv_overrun", "a TLV goes past the end of the header"},
    {"unique_id_too_long", "UNIQUE_ID is longer than 128 bytes"},
    {"ssl_too_short", "the SSL TLV is shorter than its five fixed bytes"},
    {"ssl_tlv_overrun", "a field inside the SSL TLV goes past its end"},
    {"crc_length", "CRC32C must be four bytes"},
    {"crc_twice", "there are two CRC32C"},
    {"crc_mismatch", "the header's CRC32C is wrong"},
    {"crc_missing", "the header has no CRC32C and must have one"},
    {"v1_space", "PROXY must be followed by one space"},
    {"v1_family", "the word after PROXY is none of TCP4, TCP6, UNKNOWN"},
    {"v1_address", "not an address of the line's family in its strict form"},
    {"v1_port", "not a port from 0 to 65535 without leading zeros"},
    {"v1_line_end", "the line must end with CR LF after the second port"},
    {"v1_too_long", "no CR LF within the 107 bytes that a line may have"},
    {"header_required", "a header is required here and there is none"},
    {"header_forbidden", "a header is not allowed here"},
    {"source_not_trusted", "the sender may not speak for others"},
    {"timed_out", "the header did not arrive in time"},
    {"closed", "the peer closed before its header was whole"},
};
static_assert(std::size(kReasons) == kReasonCount);

constexpr std::string_view kOutcomes[] = {"need_more", "header", "not_proxy", "reject"};
constexpr std::string_view kKinds[] = {"none", "tls", "http1", "h2c", "other"};

bool begins_like(Bytes bytes, const void* signature, std::size_t size) noexcept {
  return std::memcmp(bytes.data(), signature, std::min(bytes.size(), size)) == 0;
}

Decoded no_header(Kind kind) noexcept {
  Decoded decoded;
  decoded.outcome = Outcome::not_proxy;
  decoded.kind = kind;
  return decoded;
}

Decoded more_than(Bytes bytes, std::size_t wanted) noexcept {
  Decoded decoded;
  need_more(decoded, bytes.size(), wanted);
  return decoded;
}

// What is left when the two most frequent streams, a whole v2 header and a ClientHello, have been looked for. Apart
// from them, so that they need not save registers for it.
[[gnu::noinline]] Decoded decode_others(Bytes bytes, const DecodeOptions& options) noexcept {
  if (bytes.empty()) return more_than(bytes, 1);
  if (begins_like(bytes, kV2Signature, kV2Certain))
    return bytes.size() < kV2Certain ? more_than(bytes, kV2Certain) : decode_v2(bytes, options);
  if (options.v1 && begins_like(bytes, kV1Signature, kV1SignatureSize))
    return bytes.size() < kV1SignatureSize ? more_than(bytes, kV1SignatureSize) : decode_v1(bytes, options);
  return no_header(classify(bytes));
}

}  // namespace

Decoded decode(Bytes bytes, const DecodeOptions& options) noexcept {
  if (bytes.size() >= kV2FixedSize) {
    if (has_v2_signature(bytes.data())) [[likely]]
      return decode_v2(bytes, options);
    if (bytes[0] == kTlsHandshake) return no_header(kind_of_handshake(bytes));
  }
  return decode_others(bytes, options);
}

std::string_view name(Outcome value) noexcept {
  return kOutcomes[static_cast<std::size_t>(value)];
}
std::string_view name(Kind value) noexcept {
  return kKinds[static_cast<std::size_t>(value)];
}
std::string_view name(Reason value) noexcept {
  return kReasons[static_cast<std::size_t>(value)].name;
}
std::string_view text(Reason value) noexcept {
  return kReasons[static_cast<std::size_t>(value)].text;
}

}  // namespace ppv2
