// The slots of the session table that belong to one loop, and which of them are free.
//
// Slot s of the table belongs to loop s mod loops; inside a loop a slot is known by its place, s div loops, so that
// what a loop keeps for its slots in private memory lies dense. Used from the loop's thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "relay/policy.h"
#include "relay/session_table.h"

namespace ravelin::relay {

class Slots {
 public:
  Slots(const SessionTable& table, std::uint32_t loop)
      : table_(table),
        loop_(loop),
        count_((table.shape().sessions + table.shape().loops - 1 - loop) / table.shape().loops) {}

  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t place) const { return place * table_.shape().loops + loop_; }
  [[nodiscard]] SessionRecord& record(std::uint32_t place) const { return table_.record(slot_of(place)); }
  [[nodiscard]] SessionView view(std::uint32_t place) const {
    return {.record = record(place), .extension = table_.extension(slot_of(place))};
  }
  // All places from here on have never been used.
  [[nodiscard]] std::uint32_t unused_from() const { return unused_from_; }

  // A place whose record is free; nothing when all are taken.
  [[nodiscard]] std::optional<std::uint32_t> take() {
    if (!freed_.empty()) {
      const std::uint32_t place = freed_.back();
      freed_.pop_back();
      return place;
    }
    if (unused_from_ == count_) return std::nullopt;
    return unused_from_++;
  }
  void give_back(std::uint32_t place) { freed_.push_back(place); }

  // Learns from the records which places are taken. `place_is_taken` follows for each, in order.
  template <class Visit>
  void adopt(Visit place_is_taken) {
    const std::uint32_t used = table_.slots_used() / table_.shape().loops + 1;
    for (std::uint32_t place = std::min(count_, used); place > 0; --place) {
      if (record(place - 1).phase == Phase::free && record(place - 1).generation == 0) continue;
      unused_from_ = place;
      break;
    }
    for (std::uint32_t place = 0; place < unused_from_; ++place) {
      if (record(place).phase == Phase::free) {
        freed_.push_back(place);
      } else {
        place_is_taken(place);
      }
    }
  }

 private:
  const SessionTable& table_;
  std::uint32_t loop_;
  std::uint32_t count_;
  std::uint32_t unused_from_ = 0;
  std::vector<std::uint32_t> freed_;
};

}  // namespace ravelin::relay
