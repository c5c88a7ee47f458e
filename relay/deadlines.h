// At most one deadline for each slot of a loop. Timeouts of equal length run out in the order in which they were set,
// so a queue for each length in use replaces a timer for each session: setting and clearing are a few stores, and a
// loop whose sessions have no deadline never wakes up for one.
//
// Used from the loop's thread only. Time is CLOCK_MONOTONIC in milliseconds, passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sys/units.h"

namespace ravelin::relay {

class Deadlines {
 public:
  explicit Deadlines(std::uint32_t slots) : links_(slots) {}

  // Replaces the slot's deadline by `now + timeout`; a timeout of zero means never.
  void set(std::uint32_t slot, sys::Duration timeout, std::int64_t now);
  void clear(std::uint32_t slot);

  [[nodiscard]] bool is_set(std::uint32_t slot) const { return links_[slot].queue != kNone; }
  [[nodiscard]] std::optional<std::int64_t> next() const;
  // A slot whose deadline has passed, cleared; nothing when there is none.
  [[nodiscard]] std::optional<std::uint32_t> take_due(std::int64_t now);

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Link {
    std::int64_t due = 0;
    std::uint32_t queue = kNone;
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
  };
  struct Queue {
    sys::Duration timeout;
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  [[nodiscard]] std::uint32_t queue_for(sys::Duration timeout);

  std::vector<Link> links_;
  std::vector<Queue> queues_;  // as many as there are different timeouts in the configuration
};

}  // namespace ravelin::relay
