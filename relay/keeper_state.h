// What a keeper knows, in a file that outlives exec(3): the same messages that go over its channels, with numbers of
// descriptors that are kept open in the place of descriptors. Written by a keeper that replaces itself by a newer one,
// and by a worker that has lost its keeper and becomes one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "relay/keeper_channel.h"
#include "relay/keeper_wire.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

class StateWriter {
 public:
  // The descriptors stay open over exec(3) from now on.
  void add(const KeeperMessage& message, std::span<const int> fds);
  // A file with all of it, itself kept open.
  [[nodiscard]] sys::Result<sys::UniqueFd> write() const;
  // The replacement did not come about: exec(3) closes everything again.
  void keep_nothing_open();

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::byte> frame_;
  std::vector<int> kept_;
};

// Calls `visit` for each message, with its descriptors; from here on they are closed by exec(3) again.
[[nodiscard]] sys::Result<void> read_state(const sys::UniqueFd& file,
                                           const std::function<sys::Result<void>(Received)>& visit);

}  // namespace ravelin::relay
