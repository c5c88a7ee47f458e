#include "ppv2/ip_text.h"

#include <cstddef>
#include <cstring>

namespace ppv2 {
namespace {

inline unsigned digit(char c) noexcept {
  return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0';
}

inline int hex_digit(char c) noexcept {
  if (digit(c) < 10) return static_cast<int>(digit(c));
  const unsigned letter = (static_cast<unsigned>(static_cast<unsigned char>(c)) | 0x20U) - 'a';
  return letter < 6 ? static_cast<int>(letter) + 10 : -1;
}

// A decimal number without leading zeros, at most `max`. Unchecked where the caller knows that the bytes go on for
// longer than any number it may find.
template <bool kChecked>
inline Read read_number(const char*& at, const char* end, unsigned max, unsigned& value) noexcept {
  if (kChecked && at == end) return Read::more;
  value = digit(*at);
  if (value > 9) return Read::bad;
  ++at;
  if (value == 0) {
    if (kChecked && at == end) return Read::more;
    return digit(*at) > 9 ? Read::ok : Read::bad;
  }
  for (;; ++at) {
    if (kChecked && at == end) return Read::more;
    const unsigned next = digit(*at);
    if (next > 9) return Read::ok;
    value = value * 10 + next;
    if (value > max) return Read::bad;
  }
}

// An octet in front of which four bytes can be read. A fourth digit is left for the caller, to whom it is no dot.
inline Read read_octet(const char*& at, unsigned& value) noexcept {
  value = digit(at[0]);
  if (value > 9) return Read::bad;
  ++at;
  const unsigned second = digit(at[0]);
  if (second > 9) return Read::ok;
  if (value == 0) return Read::bad;
  value = value * 10 + second;
  ++at;
  const unsigned third = digit(at[0]);
  if (third > 9) return Read::ok;
  value = value * 10 + third;
  if (value > 255) return Read::bad;
  ++at;
  return Read::ok;
}

template <bool kChecked>
inline Read read_octets(const char*& at, const char* end, std::uint8_t out[4]) noexcept {
  for (int octet = 0;; ++octet) {
    unsigned value = 0;
    const Read read = kChecked ? read_number<true>(at, end, 255, value) : read_octet(at, value);
    if (read != Read::ok) return read;
    out[octet] = static_cast<std::uint8_t>(value);
    if (octet == 3) return Read::ok;
    if (*at != '.') return Read::bad;
    ++at;
  }
}

constexpr std::ptrdiff_t kIpv4TextMax = 16;  // with the byte behind it
constexpr std::ptrdiff_t kPortTextMax = 6;

}  // namespace

Read read_ipv4(const char*& at, const char* end, std::uint8_t out[4]) noexcept {
  return end - at >= kIpv4TextMax ? read_octets<false>(at, end, out) : read_octets<true>(at, end, out);
}

Read read_port(const char*& at, const char* end, std::uint16_t& port) noexcept {
  unsigned value = 0;
  const Read read =
      end - at >= kPortTextMax ? read_number<false>(at, end, 65535, value) : read_number<true>(at, end, 65535, value);
  port = static_cast<std::uint16_t>(value);
  return read;
}

Read read_ipv6(const char*& at, const char* end, std::uint8_t out[16]) noexcept {
  std::size_t size = 0;  // bytes of `out` so far
  int gap = -1;          // where "::" stands
  if (at == end) return Read::more;
  if (*at == ':') {
    if (at + 1 == end) return ++at, Read::more;
    if (*++at != ':') return Read::bad;
    ++at;
    gap = 0;
  }
  // Each turn stands where a group may begin; behind "::" the address may end as well.
  while (true) {
    if (at == end) return Read::more;
    const char* const group = at;
    // Eight groups leave no room for a gap, and a gap stands for one group at least.
    const std::size_t room = (gap >= 0 ? 14U : 16U) - size;
    if (room < 2 && hex_digit(*at) >= 0) return Read::bad;
    unsigned value = 0;
    int digits = 0;
    for (; at != end; ++at, ++digits) {
      const int next = hex_digit(*at);
      if (next < 0) break;
      if (digits == 4) return Read::bad;
      value = value << 4 | static_cast<unsigned>(next);
    }
    if (digits == 0) {
      if (at != end && gap == static_cast<int>(size)) break;
      return Read::bad;
    }
    if (at == end) return Read::more;
    if (*at == '.') {
      if (room < 4) return Read::bad;
      at = group;
      if (const Read read = read_ipv4(at, end, out + size); read != Read::ok) return read;
      size += 4;
      break;
    }
    out[size++] = static_cast<std::uint8_t>(value >> 8);
    out[size++] = static_cast<std::uint8_t>(value);
    if (*at != ':') break;
    if (size == 16) return Read::bad;
    ++at;
    if (at == end) return Read::more;
    if (*at == ':') {
      if (gap >= 0 || size > 14) return Read::bad;
      gap = static_cast<int>(size);
      ++at;
    }
  }
  if (gap < 0) return size == 16 ? Read::ok : Read::bad;
  const std::size_t behind = size - static_cast<std::size_t>(gap);
  std::memmove(out + 16 - behind, out + gap, behind);
  std::memset(out + gap, 0, 16 - size);
  return Read::ok;
}

}  // namespace ppv2
