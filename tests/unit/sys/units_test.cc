#include "sys/units.h"

#include <doctest/doctest.h>

using namespace ravelin::sys;
using namespace std::chrono_literals;

TEST_CASE("durations read as people write them") {
  CHECK(*parse_duration("250ms") == 250ms);
  CHECK(*parse_duration("1h30m") == 90min);
  CHECK(*parse_duration("2d") == 48h);
  CHECK(*parse_duration("0") == 0ms);
}

TEST_CASE("a duration without a unit, out of order or too long is refused with what was expected") {
  for (const char* text : {"", "10", "s", "10 s", "5m1h", "1.5s", "-1s", "10sec", "9223372036854775807d", "1s1s"}) {
    CAPTURE(text);
    CHECK(!parse_duration(text));
  }
  CHECK(parse_duration("10").error().what.find("expected") != std::string::npos);
}

TEST_CASE("sizes are binary and say so") {
  CHECK(parse_byte_count("64KiB")->bytes == 65536);
  CHECK(parse_byte_count("1GiB")->bytes == 1ULL << 30);
  for (const char* text : {"64K", "64KB", "64", "1MiB1KiB", "KiB"}) CHECK(!parse_byte_count(text));
}

TEST_CASE("every printed duration and size reads back as itself") {
  for (const auto value : {0ms, 1ms, 1000ms, 90'061'001ms, 604'800'000ms})
    CHECK(*parse_duration(to_text(value)) == value);
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1024ULL, 1536ULL, 3ULL << 30}) {
    CHECK(parse_byte_count(to_text(ByteCount{bytes}))->bytes == bytes);
  }
}
