// Sessions of one loop that are to be ended at a moment of their own, whatever they do until then. Which moment that is
// stands in the table; this is only the order. A session may be named several times, and may be over when its turn
// comes: whoever takes it looks.
//
// Used from the loop's thread only. Time is CLOCK_MONOTONIC in milliseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace ravelin::relay {

class Endings {
 public:
  struct Entry {
    std::int64_t due = 0;
    std::uint32_t place = 0;
    std::uint32_t generation = 0;
    bool operator>(const Entry& other) const { return due > other.due; }
  };

  void add(const Entry& entry) { queue_.push(entry); }
  [[nodiscard]] std::optional<std::int64_t> next() const {
    return queue_.empty() ? std::nullopt : std::optional(queue_.top().due);
  }
  [[nodiscard]] std::optional<Entry> take_due(std::int64_t now) {
    if (queue_.empty() || queue_.top().due > now) return std::nullopt;
    const Entry entry = queue_.top();
    queue_.pop();
    return entry;
  }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace ravelin::relay
