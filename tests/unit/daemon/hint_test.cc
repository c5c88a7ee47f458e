#include "daemon/hint.h"

#include <doctest/doctest.h>

using namespace ravelin;

TEST_CASE("whatever makes a daemon unavailable at the start comes with something to do about it") {
  for (int code = 1; code < 134; ++code) {
    CAPTURE(code);
    const sys::Error error{code, "cannot listen on :443"};
    if (sys::exit_for(error) != sys::Exit::failed) CHECK_FALSE(daemon::hint_for(error).empty());
  }
  CHECK(daemon::hint_for({0, "what says all there is to say"}).empty());
}
