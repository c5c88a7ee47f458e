// What the control loop keeps in the session table beside its counters, so that the next process knows it: the names of
// the listeners that records speak of, and how a drain that has begun goes on. All zeros is the beginning.
//
// Written by the control loop's thread alone; of what another process wrote nothing is believed that is out of bounds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "relay/session_record.h"

namespace ravelin::relay {

// The moments of a drain, on CLOCK_MONOTONIC; zeros: there is none.
struct DrainRecord {
  std::int64_t since_ms = 0;
  std::int64_t close_from_ms = 0;  // the first session that has not ended by itself may be closed now
  std::int64_t over_ms = 0;        // the last one is; 0: sessions go on until they end
};

class ControlRecord {
 public:
  static constexpr std::size_t kMostListeners = 250;

  DrainRecord drain;
  std::uint16_t numbering = 0;  // that every record has been brought to, see ListenerNumber

  // Longer names are cut. The names of one numbering before are kept.
  void name_listener(ListenerNumber listener, std::string_view name) {
    if (listener.number >= kMostListeners) return;
    Name& entry = names_[listener.numbering % 2][listener.number];
    entry.length = static_cast<std::uint16_t>(std::min(name.size(), entry.text.size()));
    std::memcpy(entry.text.data(), name.data(), entry.length);
  }
  [[nodiscard]] std::string listener_name(ListenerNumber listener) const {
    if (listener.number >= kMostListeners) return "unknown";
    const Name& entry = names_[listener.numbering % 2][listener.number];
    if (entry.length == 0) return "unknown";
    return {entry.text.data(), std::min<std::size_t>(entry.length, entry.text.size())};
  }

 private:
  struct Name {
    std::uint16_t length = 0;
    std::array<char, 126> text{};
  };
  std::array<std::uint16_t, 3> unused_{};
  std::array<std::uint64_t, 28> reserved_{};
  std::array<std::array<Name, kMostListeners>, 2> names_{};
};
static_assert(std::is_trivially_copyable_v<ControlRecord>);
static_assert(sizeof(ControlRecord) == 256 + 2 * 128 * ControlRecord::kMostListeners);

}  // namespace ravelin::relay
