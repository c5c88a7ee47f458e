#include "ppv2/tool/escape.h"

#include <algorithm>

namespace ravelin::ppv2_tool {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

void append_hex(std::string& out, unsigned char byte) {
  out.push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 15]);
}

bool is_plain(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string hex(ppv2::Bytes bytes) {
  std::string out;
  for (const std::byte byte : bytes) append_hex(out, static_cast<unsigned char>(byte));
  return out;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_plain);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_plain(c) && c != '\\') {
      out.push_back(c);
    } else {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(c));
    }
  }
  return out;
}

// unix(7): a name that begins with NUL is abstract; padding behind it cannot be told from the name's own NULs.
std::string unix_path_text(ppv2::Bytes path) {
  std::string_view text(reinterpret_cast<const char*>(path.data()), path.size());
  if (text.empty() || text.front() != '\0') return escaped(text.substr(0, text.find('\0')));
  const auto last = text.find_last_not_of('\0');
  return last == std::string_view::npos ? std::string() : escaped(text.substr(1, last)).insert(0, 1, '@');
}

}  // namespace ravelin::ppv2_tool
