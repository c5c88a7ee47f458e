#include "tests/bench/load/histogram.h"

#include <doctest/doctest.h>

using ravelin::bench::Histogram;
using std::chrono::nanoseconds;

TEST_CASE("a percentile is off by less than two percent at any scale") {
  for (const std::int64_t value : {1LL, 100LL, 127LL, 128LL, 255LL, 256LL, 12'345LL, 1'000'000LL, 3'999'999'999LL}) {
    Histogram histogram;
    histogram.add(nanoseconds(value));
    histogram.add(nanoseconds(value * 10));
    const auto median = static_cast<double>(histogram.percentile(0.5).count());
    CHECK(median >= static_cast<double>(value));
    CHECK(median <= static_cast<double>(value) * 1.02);
  }
}

TEST_CASE("percentiles of a thousand different times stand in order and never exceed the largest") {
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) histogram.add(std::chrono::microseconds(i));
  CHECK(histogram.count() == 1000);
  CHECK(histogram.percentile(0.5).count() == doctest::Approx(500'000).epsilon(0.02));
  CHECK(histogram.percentile(0.99).count() == doctest::Approx(990'000).epsilon(0.02));
  CHECK(histogram.percentile(1.0) == nanoseconds(1'000'000));
}

TEST_CASE("an empty histogram and an endless time do no harm") {
  Histogram histogram;
  CHECK(histogram.percentile(0.99).count() == 0);
  histogram.add(std::chrono::hours(100));
  CHECK(histogram.count() == 1);
  CHECK(histogram.percentile(0.5) > std::chrono::minutes(30));
}
