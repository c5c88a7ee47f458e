#include "admin/message.h"

#include <charconv>

namespace ravelin::admin {
namespace {

// In a query '+' is a blank, as HTML forms write it; in a path it is itself.
std::optional<std::string> decode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      unsigned value = 0;
      const std::string_view digits = text.substr(i + 1, 2);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2 || value == 0) return std::nullopt;
      decoded += static_cast<char>(value);
      i += 2;
    }
  }
  return decoded;
}

std::string_view without_authority(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return text;
  const auto path = text.find_first_of("/?", kScheme.size());
  return path == std::string_view::npos ? "/" : text.substr(path);
}

}  // namespace

sys::Result<Target> Target::parse(std::string_view text) {
  text = without_authority(text);
  const auto mark = text.find('?');
  auto path = decode(text.substr(0, mark), false);
  if (!path) return sys::fail(0, "the path holds a malformed escape");
  if (!path->starts_with('/')) return sys::fail(0, "the path does not start with '/'");
  Target target{.path = std::move(*path)};
  std::string_view rest = mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = decode(pair.substr(0, equals), true);
    auto value = decode(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return sys::fail(0, "the query holds a malformed escape");
    target.query.emplace_back(std::move(*name), std::move(*value));
  }
  return target;
}

std::optional<std::string_view> Target::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Response text_response(unsigned status, std::string_view line) {
  return Response{.status = status, .body = fmt::format("{}\n", line)};
}

}  // namespace ravelin::admin
