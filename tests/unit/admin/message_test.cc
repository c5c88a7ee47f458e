#include "admin/message.h"

#include <doctest/doctest.h>

using ravelin::admin::Target;

TEST_CASE("a target is split and decoded") {
  const auto target = Target::parse("/sessions/a%20b?origin=10.0.0.1%3A443&empty=&flag&name=a+b%2Bc&origin=second");
  REQUIRE(target);
  CHECK(target->path == "/sessions/a b");
  CHECK(target->parameter("origin") == "10.0.0.1:443");
  CHECK(target->parameter("empty") == "");
  CHECK(target->parameter("flag") == "");
  CHECK(target->parameter("name") == "a b+c");
  CHECK(!target->parameter("absent"));
  CHECK(target->query.size() == 5);
}

TEST_CASE("the absolute form means the same as its path") {
  CHECK(Target::parse("http://localhost:9100/metrics?x=1")->path == "/metrics");
  CHECK(Target::parse("http://localhost:9100")->path == "/");
}

TEST_CASE("empty pairs of a query are passed over") {
  const auto target = Target::parse("/?&&a=1&");
  REQUIRE(target);
  CHECK(target->query.size() == 1);
}

TEST_CASE("a target with a broken escape, a NUL or no path is refused") {
  for (const auto* text : {"/%", "/%4", "/%zz", "/%+1", "/%00", "/?a=%00", "/?a=%", "/?%q=1", "", "*", "metrics",
                           "localhost:80", "?a=1", "https://x/"}) {
    CAPTURE(text);
    CHECK(!Target::parse(text));
  }
}
