// How many lines of one class of event may be written: a burst, then so many a second. What is held back is counted
// exactly and said: before the next line of the class that is written, or by say_held_back() if none follows. Whoever
// owns one calls that every kSayEvery and at the end.
//
// One for each class and loop; used from its loop's thread alone. Time comes from outside.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "sys/log.h"

namespace ravelin::daemon {

class LogBudget {
 public:
  LogBudget(std::string_view what, std::uint32_t a_second, std::uint32_t burst)
      : what_(what), a_second_(a_second), burst_(burst), left_(burst * kLine) {}

  // True if a line may be written now. False: it has been counted instead.
  [[nodiscard]] bool admit(sys::Log& log, std::int64_t now_ms) {
    const std::int64_t earned = std::max<std::int64_t>(now_ms - std::exchange(last_ms_, now_ms), 0) * a_second_;
    left_ = std::min(left_ + earned, std::int64_t{burst_} * kLine);
    if (left_ < kLine) {
      ++held_back_;
      return false;
    }
    left_ -= kLine;
    say_held_back(log);
    return true;
  }

  // What was held back and has not been said.
  void say_held_back(sys::Log& log) {
    const auto count = std::exchange(held_back_, 0);
    if (count == 0) return;
    log.line(sys::LogLevel::warning, "lines_held_back").field("event_class", what_).field("count", count);
  }

  static constexpr std::chrono::seconds kSayEvery{10};

 private:
  static constexpr std::int64_t kLine = 1000;  // thousandths of a line, so that each millisecond earns a whole number

  std::string_view what_;
  std::uint32_t a_second_;
  std::uint32_t burst_;
  std::int64_t left_;
  std::int64_t last_ms_ = 0;
  std::uint64_t held_back_ = 0;
};

}  // namespace ravelin::daemon
