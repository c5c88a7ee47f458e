#include "sys/uv.h"

#include <doctest/doctest.h>

#include <exception>

using namespace ravelin::sys;

TEST_CASE("a handle that cannot be made is an exception, and the loop goes on") {
  Loop loop;
  CHECK_THROWS_AS(Poll(loop, -1, [](int, int) {}), std::exception);
  bool fired = false;
  Timer timer(loop, [&] { fired = true; });
  timer.start(std::chrono::milliseconds(0));
  loop.run();
  CHECK(fired);
}
