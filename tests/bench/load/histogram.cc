#include "tests/bench/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ravelin::bench {

// Values below kSteps have a bucket each; above, the leading bit picks the doubling and the next six bits the step.
std::size_t Histogram::bucket_of(std::uint64_t value) {
  if (value < kSteps) return value;
  const auto doubling = static_cast<unsigned>(std::bit_width(value)) - std::bit_width(kSteps - 1);
  const std::uint64_t step = (value >> doubling) & (kSteps / 2 - 1);
  const std::size_t bucket = kSteps + (doubling - 1) * (kSteps / 2) + step;
  return std::min<std::size_t>(bucket, kBuckets - 1);
}

std::uint64_t Histogram::top_of(std::size_t bucket) {
  if (bucket < kSteps) return bucket;
  const std::size_t doubling = (bucket - kSteps) / (kSteps / 2) + 1;
  const std::uint64_t step = (bucket - kSteps) % (kSteps / 2);
  return ((kSteps / 2 + step + 1) << doubling) - 1;
}

void Histogram::add(std::chrono::nanoseconds value) {
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.count()));
  ++buckets_[bucket_of(nanoseconds)];
  ++count_;
  largest_ = std::max(largest_, nanoseconds);
}

void Histogram::clear() {
  *this = Histogram();
}

std::chrono::nanoseconds Histogram::percentile(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && seen > 0) {
      return std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(top_of(bucket), largest_)));
    }
  }
  return std::chrono::nanoseconds(0);
}

nlohmann::json Histogram::summary() const {
  const auto microseconds = [](std::chrono::nanoseconds value) { return static_cast<double>(value.count()) / 1000; };
  return {{"p50", microseconds(percentile(0.5))},
          {"p99", microseconds(percentile(0.99))},
          {"p99.9", microseconds(percentile(0.999))},
          {"max", static_cast<double>(largest_) / 1000}};
}

}  // namespace ravelin::bench
