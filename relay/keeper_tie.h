// A loop's line to the keeper: which sessions and pipes there are, with duplicates of their descriptors, and which are
// gone. What has been said reaches the keeper even if this process dies right afterwards.
//
// A session's end is not signalled by closing its sockets (the keeper's duplicates keep them alive); it is told here
// before they are closed, and its slot is free when the keeper has let go as well. Ends are told in bulk.
//
// Belongs to one loop's thread. A keeper that does not read slows nothing: what it could not be told is told again
// later, and a session that it does not know is only as safe as this process.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "relay/keeper_channel.h"
#include "sys/uv.h"

namespace ravelin::relay {

class KeeperTie {
 public:
  // `on_released` tells how many of the sessions that were let go are free now, in the order in which they were.
  // `on_room` follows some time after something could not be told.
  KeeperTie(sys::Loop& loop, KeeperChannel channel, std::function<void(std::uint32_t count)> on_released,
            std::function<void()> on_room);
  KeeperTie(const KeeperTie&) = delete;
  KeeperTie& operator=(const KeeperTie&) = delete;

  // Before the first byte moves. `origin`: -1 if there is none yet. False: it could not be told now.
  [[nodiscard]] bool hold(std::uint32_t slot, std::uint32_t generation, int client, int origin);
  // The same, but waits for room.
  [[nodiscard]] bool hold_waiting(std::uint32_t slot, std::uint32_t generation, int client, int origin);
  void let_go(std::uint32_t slot, std::uint32_t generation);
  // Before the first byte enters the pipe.
  [[nodiscard]] bool hold_pipe(std::uint32_t index, int in, int out);
  void let_go_pipe(std::uint32_t index);

  // The loop stops turning; what has not been told yet is told now.
  void finish();

 private:
  [[nodiscard]] bool send(std::span<const int> fds, int patience_ms);
  void tell_ends();
  void hear();
  void lose_keeper();

  KeeperChannel channel_;
  std::function<void(std::uint32_t)> on_released_;
  std::function<void()> on_room_;
  KeeperMessage message_{.kind = KeeperKind::sessions};  // ends that have not been told yet, and what goes with them
  KeeperMessage pipe_{.kind = KeeperKind::pipes};
  std::uint32_t unreleased_ = 0;
  bool lost_ = false;
  bool short_of_room_ = false;
  bool timer_runs_ = false;
  sys::Poll poll_;
  sys::Timer timer_;
  sys::Timer beat_;
};

}  // namespace ravelin::relay
