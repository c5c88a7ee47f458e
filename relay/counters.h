// Counters in the shared table: they go on counting when the process is replaced. One block a loop, written by that
// loop alone, and one more of the acceptor's; readers add the blocks up. Beside them stands what the loop is at, so
// that a session that kills processes can be told from those that only die with them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace ravelin::relay {

// What the engine counts. A policy's own counters follow from kPolicyCounters on.
enum Counter : unsigned {
  kAccepted,
  kAcceptPauses,   // times that accepting stopped at a limit or for want of descriptors
  kSessionsEnded,  // one for each accepted, in the end
  kBytesUp,
  kBytesDown,
  kConnectAttempts,
  kConnectFailures,
  kPipesShort,  // turns that copied because no pipe was to be had
  kWakeupsWithoutProgress,
  kResumedSessions,  // taken over from another process
  kUpgrades,         // of the program, while its sessions went on
  kWorkerDeaths,     // processes that ended without being asked to
  kReasons,          // one for each Reason follows
  kPolicyCounters = kReasons + 32,
  // Of the engine again, at the end, because the policies' numbers are as they were.
  kLimitReached = 112,         // one for each Limit follows: what it refused, and how often it stopped accepting
  kSourcesWithoutPlace = 119,  // connections whose source shared its place in a full table
  kMaxCounters = 120
};

class CounterBlock {
 public:
  void add(unsigned counter, std::uint64_t amount = 1) {
    const std::atomic_ref<std::uint64_t> value(values_[counter]);
    value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value(unsigned counter) const {
    // A read through atomic_ref needs a non-const object in C++20.
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(values_[counter])).load(std::memory_order_relaxed);
  }

  // The session that the loop works on, as slot and generation; 0: none.
  void work_on(std::uint64_t session) { std::atomic_ref(current_).store(session, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t current() const { return current_; }
  // What was worked on when a process died by its own doing.
  void suspect(std::uint64_t session) { suspect_ = session; }
  [[nodiscard]] std::uint64_t suspected() const { return suspect_; }

 private:
  alignas(64) std::array<std::uint64_t, kMaxCounters> values_{};
  alignas(8) std::uint64_t current_ = 0;
  std::uint64_t suspect_ = 0;
  std::array<std::uint64_t, 6> reserved_{};
};
static_assert(sizeof(CounterBlock) == 1024);

}  // namespace ravelin::relay
