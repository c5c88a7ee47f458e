#include "daemon/log_budget.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "sys/unique_fd.h"

using namespace ravelin;

TEST_CASE("a flood of events writes its budget, and how many were held back is said exactly") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const sys::UniqueFd read_end(ends[0]);
  sys::UniqueFd write_end(ends[1]);
  std::optional<sys::Log> log(std::in_place, sys::LogFormat::text, sys::LogLevel::info, write_end.get());
  daemon::LogBudget budget("session_failed", 2, 5);
  const auto written = [&](int events, std::int64_t now) {
    int lines = 0;
    for (int event = 0; event < events; ++event) lines += budget.admit(*log, now) ? 1 : 0;
    return lines;
  };
  CHECK(written(100, 10'000) == 5);
  CHECK(written(100, 10'499) == 0);  // not yet
  CHECK(written(1, 10'500) == 1);    // half a second earns one of two lines
  CHECK(written(100, 99'000) == 5);  // and long silence no more than a burst
  budget.say_held_back(*log);
  budget.say_held_back(*log);
  log.reset();
  write_end.reset();
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(read_end.get(), bytes.data(), bytes.size());
  REQUIRE(got > 0);
  const std::string text(bytes.data(), static_cast<std::size_t>(got));
  const auto first = text.find("lines_held_back event_class=session_failed count=195\n");
  const auto second = text.find("lines_held_back event_class=session_failed count=95\n");
  REQUIRE(first != text.npos);
  REQUIRE(second != text.npos);
  CHECK(second == text.rfind("lines_held_back"));
}

TEST_CASE("events within the budget are all written") {
  sys::Log log(sys::LogFormat::text, sys::LogLevel::error);
  daemon::LogBudget budget("session_failed", 10, 10);
  for (std::int64_t second = 1; second < 100; ++second) {
    for (int event = 0; event < 10; ++event) CHECK(budget.admit(log, second * 1000));
  }
}
