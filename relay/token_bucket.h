// So many a second, and a burst at once. Time comes from outside; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "relay/limits.h"

namespace ravelin::relay {

class TokenBucket {
 public:
  explicit TokenBucket(const RateLimit& limit = {}) : left_(std::int64_t{limit.most_at_once()} * kToken) {}

  // True: there is one, until take() takes it.
  [[nodiscard]] bool has_one(const RateLimit& limit, std::int64_t now_ms) {
    const std::int64_t full = std::int64_t{limit.most_at_once()} * kToken;
    if (last_ms_ != 0) {
      // A day fills any bucket, and keeps the product small.
      const std::int64_t passed = std::clamp<std::int64_t>(now_ms - last_ms_, 0, 86'400'000);
      left_ = std::min(left_ + passed * limit.a_second, full);
    }
    last_ms_ = std::max(last_ms_, now_ms);
    return left_ >= kToken;
  }
  void take() { left_ -= kToken; }

  // Until has_one() is true again; only after it was false.
  [[nodiscard]] std::int64_t wait_ms(const RateLimit& limit) const {
    return (kToken - left_ + limit.a_second - 1) / limit.a_second;
  }

 private:
  static constexpr std::int64_t kToken = 1000;  // thousandths, so that each millisecond earns a whole number

  std::int64_t left_;
  std::int64_t last_ms_ = 0;
};

}  // namespace ravelin::relay
