// One address that sessions can be sent to, and what all loops together know of it. An origin with a literal address or
// a Unix path is one candidate; an origin with a name is as many as the name has addresses.
//
// Made by its pool on the control loop, shared with every loop that may use it, gone with the last of them. What can
// change is atomic and stands alone: nobody waits for anybody.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/address.h"
#include "sys/units.h"

namespace ravelin::redirector {

// Of one pool; what a name brings beyond it is left out.
inline constexpr std::size_t kMostCandidates = 1024;

// What a pool and an origin are known by between processes, in the session table: FNV-1a of what the settings call
// them, and never 0. Two origins of one mark, one chance in four thousand million, would be taken for one.
[[nodiscard]] constexpr std::uint32_t mark_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : name) hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16777619U;
  return hash == 0 ? 1 : hash;
}

struct Candidate {
  std::uint16_t index = 0;  // in its pool, unique among its living candidates, small
  std::string address;      // "192.0.2.1:443", "unix:/run/origin.sock": what a candidate is known by
  std::string origin;       // the first in the config that has this address, as configured; for the control loop
  sockaddr_storage socket_address{};
  socklen_t length = 0;

  std::atomic<std::uint32_t> origin_mark{0};    // of that origin
  std::atomic<std::uint32_t> sessions{0};       // assigned and not ended
  std::atomic<std::uint32_t> max_sessions{0};   // 0: no limit
  std::atomic<std::int64_t> avoid_until_ms{0};  // CLOCK_MONOTONIC; 0: the last attempt was good, or there was none
  std::atomic<std::uint64_t> attempts{0};
  std::atomic<std::uint64_t> failures{0};

  [[nodiscard]] bool is_full() const {
    const std::uint32_t most = max_sessions.load(std::memory_order_relaxed);
    return most != 0 && sessions.load(std::memory_order_relaxed) >= most;
  }
};

enum class Balancing : std::uint8_t {
  round_robin,      // one after the other
  least_sessions,   // the one with the fewest sessions; ties in turn
  first_available,  // the first in the order of the config that does not fail
};

// A pool as the loops see it: never changed, replaced as a whole when something in it changes.
struct PoolView {
  Balancing balancing = Balancing::round_robin;
  unsigned connect_attempts = 3;
  bool close_when_full = false;                        // the client is not reset, but told the end of the stream
  std::vector<sys::SocketAddress> sources;             // that connections come from, in turn
  std::vector<std::shared_ptr<Candidate>> candidates;  // in the order of the config
  std::uint32_t mark = 0;
  std::vector<std::uint32_t> origins;                // marks of all that the config names, sorted
  std::optional<sys::Duration> close_removed_after;  // nothing: sessions of removed origins go on
  std::shared_ptr<std::atomic<std::uint32_t>> turn;  // of all loops
};

}  // namespace ravelin::redirector
