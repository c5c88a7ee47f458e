#include "admin/utf8.h"

#include <cstdint>

namespace ravelin::admin {
namespace {

struct Lead {
  std::uint8_t from, to;   // the first byte
  std::uint8_t low, high;  // what the second byte may be; the others are 80..BF
  std::size_t length;
};

constexpr Lead kLeads[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

// The length of the well-formed sequence that the text begins with, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  for (const auto& lead : kLeads) {
    if (byte(0) < lead.from || byte(0) > lead.to) continue;
    if (text.size() < lead.length) return 0;
    if (lead.length > 1 && (byte(1) < lead.low || byte(1) > lead.high)) return 0;
    for (std::size_t i = 2; i < lead.length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return lead.length;
  }
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    valid.append(length > 0 ? text.substr(0, length) : "\uFFFD");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return valid;
}

}  // namespace ravelin::admin
