// When workers die one after the other: how long to wait before the next one, and when to give the sessions up because
// one of them may be what kills it. Pure; time comes from outside.
#pragma once

#include <algorithm>
#include <cstdint>

#include "relay/keeper_wire.h"

namespace ravelin::relay {

class CrashBreaker {
 public:
  struct Verdict {
    std::int64_t wait_ms = 0;
    bool new_sessions_only = false;
  };

  // `ran_ms`: how long the dead worker had served; 0: it never did. `settings_refused`: it said that its settings are
  // wrong, which no session is to blame for.
  [[nodiscard]] Verdict died(HandOverCause cause, std::int64_t ran_ms, bool settings_refused) {
    if (ran_ms >= kProvenMs) failures_ = suspicious_ = 0;
    // Somebody kills workers that work: that is no loop, and whoever waits makes it worse.
    if (cause == HandOverCause::killed && ran_ms > 0) {
      failures_ = 0;
      return {};
    }
    ++failures_;
    if (cause != HandOverCause::killed && !settings_refused) ++suspicious_;
    Verdict verdict{.wait_ms =
                        failures_ == 1 ? 0 : std::min<std::int64_t>(kMostWaitMs, 50LL << std::min(failures_, 16))};
    if (suspicious_ == kSuspicious) verdict.new_sessions_only = true;
    return verdict;
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  static constexpr std::int64_t kProvenMs = 10'000;
  static constexpr std::int64_t kMostWaitMs = 5'000;
  static constexpr int kSuspicious = 5;

  int failures_ = 0;
  int suspicious_ = 0;
};

}  // namespace ravelin::relay
