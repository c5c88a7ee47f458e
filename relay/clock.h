// The two clocks: monotonic time for everything that measures, wall time for what people read.
#pragma once

#include <chrono>
#include <cstdint>

namespace ravelin::relay {

// CLOCK_MONOTONIC is the same clock in every process of a machine, so that a session's times survive its process.
[[nodiscard]] inline std::int64_t monotonic_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[nodiscard]] inline std::int64_t wall_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace ravelin::relay
