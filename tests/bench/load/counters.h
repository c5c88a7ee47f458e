// What the origin counts, in a file that the client maps too: bytes are counted where they arrive, without a word
// between the two sides during a run. One writer (the origin), any number of readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace ravelin::bench {

struct Counters {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> closed{0};
  std::atomic<std::uint64_t> received{0};  // payload bytes, without PROXY header and order
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> header_v2{0};
  std::atomic<std::uint64_t> header_v1{0};
  std::atomic<std::uint64_t> header_none{0};
  std::atomic<std::uint64_t> header_wrong{0};  // malformed, or names another source port than the client's
  std::atomic<std::uint64_t> resets{0};        // connections that ended with an error
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Only one side adds, so a plain load and store is enough and needs no locked instruction.
inline void count(std::atomic<std::uint64_t>& counter, std::uint64_t amount = 1) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// Maps the counters in `path`, creating them when the file is new. They stay mapped until the process ends.
[[nodiscard]] Counters& map_counters(const std::string& path);

}  // namespace ravelin::bench
