// One end of a line between keeper and worker: a SOCK_SEQPACKET socket that carries messages with descriptors beside
// them, in order. What was sent is delivered also when the sender has died since, descriptors included: that is what
// makes a worker's last words count.
//
// Never blocks unless asked to. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "relay/keeper_wire.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

struct Received {
  enum class State : std::uint8_t { message, empty, closed, broken };
  State state = State::empty;
  KeeperMessage message;
  std::vector<sys::UniqueFd> fds;
};

class KeeperChannel {
 public:
  KeeperChannel() = default;
  explicit KeeperChannel(sys::UniqueFd fd) : fd_(std::move(fd)) {}
  [[nodiscard]] static sys::Result<std::pair<KeeperChannel, KeeperChannel>> pair();

  [[nodiscard]] int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] sys::UniqueFd release() { return std::move(fd_); }

  // The descriptors stay the caller's. All or nothing; EAGAIN and ETOOMANYREFS pass by themselves.
  [[nodiscard]] sys::Result<void> send(const KeeperMessage& message, std::span<const int> fds = {});
  // The same, but waits for room, for `patience_ms` at most.
  [[nodiscard]] sys::Result<void> send_waiting(const KeeperMessage& message, std::span<const int> fds, int patience_ms);

  // The next message. `broken`: it is none, or descriptors got lost on the way (RLIMIT_NOFILE); the peer is not to be
  // believed any more.
  [[nodiscard]] Received receive();
  // Waits until there is something to receive; false: nothing came within `patience_ms` (-1: for ever).
  [[nodiscard]] bool wait(int patience_ms) const;

 private:
  sys::UniqueFd fd_;
  std::vector<std::byte> buffer_;
};

}  // namespace ravelin::relay
