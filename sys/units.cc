#include "sys/units.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

namespace ravelin::sys {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// Largest first: texts are built from the front.
constexpr std::array<Unit, 5> kTimes{{{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizes{{{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};
constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();

// The sum of "number unit" parts whose units get smaller, as a multiple of the smallest unit.
std::optional<std::uint64_t> parse_parts(std::string_view text, std::span<const Unit> units, bool several) {
  if (text == "0") return 0;
  std::uint64_t total = 0;
  auto next = units.begin();
  bool any = false;
  while (!text.empty() && (several || !any)) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto letters = text.substr(0, std::min(text.find_first_of("0123456789"), text.size()));
    while (next != units.end() && next->name != letters) ++next;
    if (next == units.end() || number > (kMost - total) / next->size) return std::nullopt;
    total += number * next->size;
    text.remove_prefix(letters.size());
    ++next;
    any = true;
  }
  if (!any || !text.empty()) return std::nullopt;
  return total;
}

std::string to_parts(std::uint64_t value, std::span<const Unit> units, bool several) {
  if (value == 0) return "0";
  std::string text;
  for (const Unit& unit : units) {
    if (value < unit.size || (!several && value % unit.size != 0)) continue;
    text += fmt::format("{}{}", value / unit.size, unit.name);
    value %= unit.size;
    if (value == 0) break;
  }
  return text;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto value = parse_parts(text, kTimes, true);
  if (!value)
    return fail(0, "'{}' is not a duration, expected a number with ms, s, m, h or d, such as 250ms or 1h30m", text);
  return Duration(static_cast<Duration::rep>(*value));
}

Result<ByteCount> parse_byte_count(std::string_view text) {
  const auto value = parse_parts(text, kSizes, false);
  if (!value) return fail(0, "'{}' is not a size, expected a number with B, KiB, MiB or GiB, such as 64KiB", text);
  return ByteCount{*value};
}

std::string to_text(Duration duration) {
  return to_parts(static_cast<std::uint64_t>(duration.count()), kTimes, true);
}
std::string to_text(ByteCount count) {
  return to_parts(count.bytes, kSizes, false);
}

}  // namespace ravelin::sys
