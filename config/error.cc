#include "config/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace ravelin::config {
namespace {

constexpr std::size_t kMostShown = 100;

// The length of the UTF-8 sequence at the front of `text`, 0 if there is none (RFC 3629: no overlong forms, no
// surrogates).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool outside = (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90);
    return follows(1) && follows(2) && follows(3) && !outside ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return (first < 0x20 && first != '\t' && first != '\n' && first != '\r') || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0;  // the C1 set
}

}  // namespace

std::string ConfigError::text() const {
  if (file.empty()) return what;
  if (line == 0) return fmt::format("{}: {}", printable(file), what);
  return fmt::format("{}:{}:{}: {}", printable(file), line, column, what);
}

std::string text_of(ConfigErrors errors) {
  std::ranges::stable_sort(errors, {}, [](const ConfigError& error) { return std::tuple(error.line, error.column); });
  std::string text;
  for (std::size_t i = 0; i < std::min(errors.size(), kMostShown); ++i) text += errors[i].text() + '\n';
  if (errors.size() > kMostShown) text += fmt::format("and {} more errors\n", errors.size() - kMostShown);
  return text;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  while (!text.empty()) {
    if (result.size() >= most) return result + "...";
    const std::size_t length = sequence_length(text);
    const auto sequence = text.substr(0, std::max<std::size_t>(length, 1));
    const bool line_end = sequence[0] == '\n' || sequence[0] == '\r';
    if (length == 0 || line_end || is_control(sequence)) {
      for (const char byte : sequence) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      result += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return result;
}

std::size_t find_unprintable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0 || is_control(text.substr(at, length))) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace ravelin::config
