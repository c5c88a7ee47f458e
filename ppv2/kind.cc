#include "ppv2/kind.h"

#include <algorithm>
#include <cstring>

namespace ppv2 {
namespace {

constexpr char kH2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113 section 3.4
constexpr std::size_t kH2PrefaceSize = sizeof kH2Preface - 1;
constexpr std::size_t kH2Certain = 4;   // "PRI ": no method is named like that
constexpr std::size_t kMethodMax = 20;  // the longest registered one has 17 bytes

bool is_target(unsigned char c) noexcept {
  return c == '/' || c == '*' || (c | 0x20U) - 'a' < 26U || static_cast<unsigned>(c) - '0' < 10U || c == '[';
}

// RFC 9112 section 3: METHOD SP target; section 2.2: a server ignores an empty line before it.
bool is_http1(const unsigned char* at, std::size_t size) noexcept {
  const unsigned char* const end = at + size;
  if (*at == '\r') {
    if (size > 1 && at[1] != '\n') return false;
    at += std::min<std::size_t>(2, size);
  }
  const unsigned char* const method = at;
  while (at != end && (static_cast<unsigned>(*at) - 'A' < 26U || *at == '-' || *at == '_')) ++at;
  if (static_cast<std::size_t>(at - method) > kMethodMax) return false;
  if (at == end) return true;
  if (*at != ' ' || at == method) return false;
  return ++at == end || is_target(*at);
}

}  // namespace

Kind classify(Bytes bytes) noexcept {
  if (bytes.empty()) return Kind::none;
  if (bytes[0] == kTlsHandshake) return kind_of_handshake(bytes);
  const auto* const at = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() >= kH2Certain && std::memcmp(at, kH2Preface, std::min(bytes.size(), kH2PrefaceSize)) == 0)
    return Kind::h2c;
  return is_http1(at, bytes.size()) ? Kind::http1 : Kind::other;
}

}  // namespace ppv2
