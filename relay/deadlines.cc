#include "relay/deadlines.h"

#include <algorithm>

namespace ravelin::relay {

void Deadlines::set(std::uint32_t slot, sys::Duration timeout, std::int64_t now) {
  clear(slot);
  if (timeout.count() <= 0) return;
  const std::uint32_t index = queue_for(timeout);
  Queue& queue = queues_[index];
  links_[slot] = Link{.due = now + timeout.count(), .queue = index, .before = queue.last};
  (queue.last == kNone ? queue.first : links_[queue.last].after) = slot;
  queue.last = slot;
}

void Deadlines::clear(std::uint32_t slot) {
  Link& link = links_[slot];
  if (link.queue == kNone) return;
  Queue& queue = queues_[link.queue];
  (link.before == kNone ? queue.first : links_[link.before].after) = link.after;
  (link.after == kNone ? queue.last : links_[link.after].before) = link.before;
  link = Link{};
}

std::optional<std::int64_t> Deadlines::next() const {
  std::optional<std::int64_t> earliest;
  for (const Queue& queue : queues_) {
    if (queue.first == kNone) continue;
    const std::int64_t due = links_[queue.first].due;
    if (!earliest || due < *earliest) earliest = due;
  }
  return earliest;
}

std::optional<std::uint32_t> Deadlines::take_due(std::int64_t now) {
  for (const Queue& queue : queues_) {
    const std::uint32_t slot = queue.first;
    if (slot == kNone || links_[slot].due > now) continue;
    clear(slot);
    return slot;
  }
  return std::nullopt;
}

std::uint32_t Deadlines::queue_for(sys::Duration timeout) {
  const auto found = std::ranges::find(queues_, timeout, &Queue::timeout);
  if (found != queues_.end()) return static_cast<std::uint32_t>(found - queues_.begin());
  queues_.push_back(Queue{.timeout = timeout});
  return static_cast<std::uint32_t>(queues_.size() - 1);
}

}  // namespace ravelin::relay
