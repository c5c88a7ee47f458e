#include "ppv2/tool/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>

#include "ppv2/tool/escape.h"

namespace ravelin::ppv2_tool {
namespace {

// A v2 header's length field allows 16 + 65535 bytes; a page behind it is enough to say what follows.
constexpr std::size_t kMost = 16 + 65535 + 4096;

enum class Until { end, decision };

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_decided(std::string_view bytes) {
  return ppv2::decode(bytes_of(bytes)).outcome != ppv2::Outcome::need_more;
}

Input read_from(int fd, const std::string& name, Until until) {
  std::string bytes;
  char chunk[4096];
  while (bytes.size() < kMost && (until == Until::end || !is_decided(bytes))) {
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InputError{"cannot read " + name + ": " + std::strerror(errno)};
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
  return bytes;
}

Input read(const InputChoice& choice, Until until) {
  if (choice.has_hex) return parse_hex(choice.hex);
  if (choice.file == "-") return read_from(STDIN_FILENO, "standard input", until);
  const int fd = ::open(choice.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return InputError{"cannot open " + choice.file + ": " + std::strerror(errno)};
  Input input = read_from(fd, choice.file, until);
  ::close(fd);
  return input;
}

}  // namespace

Input parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::string bytes;
  int high = -1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ':' || std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    const int value = digit(c);
    if (value < 0)
      return InputError{
          std::string("'").append(escaped({&c, 1})) + "' at position " + std::to_string(i) + " is no hex digit", true};
    if (high < 0) {
      high = value;
    } else {
      bytes.push_back(static_cast<char>(high << 4 | value));
      high = -1;
    }
  }
  if (high >= 0) return InputError{"an odd number of hex digits", true};
  return bytes;
}

Input read_whole(const InputChoice& choice) {
  return read(choice, Until::end);
}

Input read_until_decided(const InputChoice& choice) {
  return read(choice, Until::decision);
}

}  // namespace ravelin::ppv2_tool
