// Counts durations in buckets whose width is under 2 % of their value: constant memory, percentiles at the end.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace ravelin::bench {

class Histogram {
 public:
  void add(std::chrono::nanoseconds value);
  void clear();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The smallest value that at least `fraction` of the values do not exceed, to the width of a bucket.
  [[nodiscard]] std::chrono::nanoseconds percentile(double fraction) const;
  // {"p50": …, "p99": …, "p99.9": …, "max": …} in microseconds
  [[nodiscard]] nlohmann::json summary() const;

 private:
  static constexpr unsigned kSteps = 128;     // exact values at the bottom; half as many buckets in each doubling above
  static constexpr unsigned kDoublings = 34;  // up to 2^41 ns, half an hour
  static constexpr std::size_t kBuckets = kSteps + kDoublings * kSteps / 2;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t top_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace ravelin::bench
