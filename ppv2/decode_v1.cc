// Section 2.1: PROXY SP (TCP4|TCP6|UNKNOWN) ... CRLF, one space between words, 107 bytes at most with the line end.
#include <algorithm>
#include <cstring>

#include "ppv2/decode.h"
#include "ppv2/ip_text.h"
#include "ppv2/wire.h"

namespace ppv2 {
namespace {

// One line that is read from left to right. Every step answers `more` at the end of the bytes.
class Line {
 public:
  Line(Bytes bytes, std::size_t limit) noexcept
      : begin_(reinterpret_cast<const char*>(bytes.data())),
        end_(begin_ + std::min(bytes.size(), limit)),
        at_(begin_ + kV1SignatureSize) {}

  Read byte(char wanted) noexcept {
    if (at_ == end_) return Read::more;
    if (*at_ != wanted) return Read::bad;
    ++at_;
    return Read::ok;
  }
  Read word(const char* wanted) noexcept {
    for (; *wanted != '\0'; ++wanted)
      if (const Read read = byte(*wanted); read != Read::ok) return read;
    return Read::ok;
  }
  // Eleven bytes at once, if they are there: "PROXY TCP4 " or "PROXY TCP6 ".
  bool starts_with(const char (&wanted)[12]) noexcept {
    if (end_ - begin_ < 11 || load<std::uint64_t>(begin_) != load<std::uint64_t>(wanted) ||
        load<std::uint32_t>(begin_ + 7) != load<std::uint32_t>(wanted + 7))
      return false;
    at_ = begin_ + 11;
    return true;
  }
  [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }

  Read address(bool ipv6, bool v4_too, Address& address) noexcept {
    std::uint8_t* const out = address.bytes.data();
    if (!ipv6) {
      address.family = Family::inet;
      return read_ipv4(at_, end_, out);
    }
    address.family = Family::inet6;
    const char* const start = at_;
    const Read as_v6 = read_ipv6(at_, end_, out);
    if (!v4_too || as_v6 == Read::ok) return as_v6;
    const char* at = start;
    std::uint8_t v4[4];
    const Read as_v4 = read_ipv4(at, end_, v4);
    if (as_v4 == Read::bad) return as_v6;
    at_ = at;
    if (as_v4 == Read::ok) {
      address.bytes = {};
      out[10] = out[11] = 0xFF;
      std::memcpy(out + 12, v4, sizeof v4);
    }
    return as_v4;
  }
  Read port(std::uint16_t& port) noexcept { return read_port(at_, end_, port); }

  // The rest of an UNKNOWN line "must be ignored": a CR or LF alone ends nothing.
  Read skip_to_line_end() noexcept {
    while (true) {
      const void* const cr = std::memchr(at_, '\r', static_cast<std::size_t>(end_ - at_));
      if (cr == nullptr) return at_ = end_, Read::more;
      at_ = static_cast<const char*>(cr) + 1;
      if (at_ == end_) return Read::more;
      if (*at_ == '\n') return ++at_, Read::ok;
    }
  }

 private:
  const char* begin_;
  const char* end_;
  const char* at_;
};

struct Step {
  Read read;
  Reason fault;  // what it means if the byte there is wrong
};

// What stands behind "PROXY TCP4 " or "PROXY TCP6 ".
Step read_ends(Line& line, bool ipv6, const DecodeOptions& options, Claim& claim) noexcept {
  Read read = Read::ok;
  for (Address* const address : {&claim.source, &claim.destination}) {
    if (read = line.address(ipv6, options.v4_in_tcp6, *address); read != Read::ok) return {read, Reason::v1_address};
    if (read = line.byte(' '); read != Read::ok) return {read, Reason::v1_address};
  }
  if (read = line.port(claim.source.port); read != Read::ok) return {read, Reason::v1_port};
  if (read = line.byte(' '); read != Read::ok) return {read, Reason::v1_port};
  if (read = line.port(claim.destination.port); read != Read::ok) return {read, Reason::v1_port};
  claim.family = claim.source.family;
  claim.transport = Transport::stream;
  return {line.word("\r\n"), Reason::v1_line_end};
}

Step read_line(Line& line, const DecodeOptions& options, Claim& claim) noexcept {
  if (line.starts_with("PROXY TCP4 ")) return read_ends(line, false, options, claim);
  if (line.starts_with("PROXY TCP6 ")) return read_ends(line, true, options, claim);
  Read read = line.byte(' ');
  if (read != Read::ok) return {read, Reason::v1_space};
  if (line.byte('U') == Read::ok) {
    if (read = line.word("NKNOWN"); read != Read::ok) return {read, Reason::v1_family};
    if (line.byte(' ') == Read::ok) return {line.skip_to_line_end(), Reason::v1_line_end};
    return {line.word("\r\n"), Reason::v1_family};
  }
  if (read = line.word("TCP"); read != Read::ok) return {read, Reason::v1_family};
  const bool ipv6 = line.byte('6') == Read::ok;
  if (!ipv6)
    if (read = line.byte('4'); read != Read::ok) return {read, Reason::v1_family};
  if (read = line.byte(' '); read != Read::ok) return {read, Reason::v1_family};
  return read_ends(line, ipv6, options, claim);
}

}  // namespace

Decoded decode_v1(Bytes bytes, const DecodeOptions& options) noexcept {
  Decoded decoded;
  if (bytes.size() >= kV1Certain) decoded.version = Version::v1;
  Line line(bytes, std::min<std::size_t>(kV1MaxLine, options.max_header));
  const Step step = read_line(line, options, decoded.claim);
  if (step.read == Read::ok) {
    decoded.outcome = Outcome::header;
    decoded.version = decoded.claim.version = Version::v1;
    decoded.claim.command = Command::proxy;
    decoded.header_length = static_cast<std::uint32_t>(line.offset());
    decoded.kind = classify(bytes.subspan(line.offset()));
    return decoded;
  }
  decoded.claim = {};
  if (step.read == Read::bad) {
    reject(decoded, step.fault, line.offset());
  } else if (line.size() == std::min<std::size_t>(kV1MaxLine, options.max_header)) {
    reject(decoded, Reason::v1_too_long, line.size());
  } else {
    need_more(decoded, bytes.size(), bytes.size() + 1);
  }
  return decoded;
}

}  // namespace ppv2
