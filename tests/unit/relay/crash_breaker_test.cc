#include "relay/crash_breaker.h"

#include <doctest/doctest.h>

using namespace ravelin::relay;

TEST_CASE("kills of workers that work cost no wait and no session, however many there are") {
  CrashBreaker breaker;
  for (int i = 0; i < 200; ++i) {
    const auto verdict = breaker.died(HandOverCause::killed, 1, false);
    CHECK(verdict.wait_ms == 0);
    CHECK_FALSE(verdict.new_sessions_only);
  }
}

TEST_CASE("workers that crash one after the other give their sessions up once") {
  CrashBreaker breaker;
  int given_up = 0;
  std::int64_t longest = 0;
  for (int i = 0; i < 20; ++i) {
    const auto verdict = breaker.died(HandOverCause::crashed, 50, false);
    if (verdict.new_sessions_only) CHECK(i == 4);
    given_up += verdict.new_sessions_only ? 1 : 0;
    longest = std::max(longest, verdict.wait_ms);
  }
  CHECK(given_up == 1);
  CHECK(longest == 5'000);
}

TEST_CASE("a worker that has served for a while clears the ones before it") {
  CrashBreaker breaker;
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(breaker.died(HandOverCause::crashed, 50, false).new_sessions_only);
    CHECK(breaker.died(HandOverCause::crashed, 60'000, false).wait_ms == 0);
  }
}

TEST_CASE("no session is blamed for settings that are refused") {
  CrashBreaker breaker;
  for (int i = 0; i < 20; ++i) CHECK_FALSE(breaker.died(HandOverCause::exited, 0, true).new_sessions_only);
}
