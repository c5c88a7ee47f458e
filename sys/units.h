// Durations and byte counts as they stand in a config file: "10s", "1h30m", "64KiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "sys/result.h"

namespace ravelin::sys {

using Duration = std::chrono::milliseconds;

struct ByteCount {
  std::uint64_t bytes = 0;
  auto operator<=>(const ByteCount&) const = default;
};

// One or more numbers with a unit of ms, s, m, h or d, largest first: "1h30m". A bare 0 needs no unit.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);
// One number with B, KiB, MiB or GiB. A bare 0 needs no unit.
[[nodiscard]] Result<ByteCount> parse_byte_count(std::string_view text);

// The shortest text that parses to the same value.
[[nodiscard]] std::string to_text(Duration duration);
[[nodiscard]] std::string to_text(ByteCount count);

}  // namespace ravelin::sys
