#include "relay/deadlines.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

using ravelin::relay::Deadlines;
using namespace std::chrono_literals;

TEST_CASE("a deadline comes once, when its time has come") {
  Deadlines deadlines(4);
  deadlines.set(2, 100ms, 1000);
  CHECK(deadlines.next() == 1100);
  CHECK(!deadlines.take_due(1099));
  CHECK(deadlines.take_due(1100) == 2U);
  CHECK(!deadlines.take_due(5000));
  CHECK(!deadlines.next());
}

TEST_CASE("setting a deadline anew replaces it, and zero means never") {
  Deadlines deadlines(4);
  deadlines.set(1, 100ms, 0);
  deadlines.set(1, 500ms, 0);
  CHECK(!deadlines.take_due(499));
  deadlines.set(1, 0ms, 0);
  CHECK(!deadlines.is_set(1));
  CHECK(!deadlines.take_due(1'000'000));
}

TEST_CASE("whatever is set and cleared in whatever order, the same slots come due as in a plain map") {
  std::mt19937 random(20240607);
  Deadlines deadlines(64);
  std::map<std::uint32_t, std::int64_t> model;
  const std::array timeouts{10ms, 25ms, 400ms};
  std::int64_t now = 0;
  for (int step = 0; step < 20000; ++step) {
    now += random() % 5;
    const std::uint32_t slot = random() % 64;
    if (random() % 4 == 0) {
      deadlines.clear(slot);
      model.erase(slot);
    } else {
      const auto timeout = timeouts[random() % timeouts.size()];
      deadlines.set(slot, timeout, now);
      model[slot] = now + timeout.count();
    }
    while (const auto due = deadlines.take_due(now)) {
      REQUIRE(model.contains(*due));
      REQUIRE(model[*due] <= now);
      model.erase(*due);
    }
    for (const auto& [place, due] : model) REQUIRE(due > now);
  }
}
