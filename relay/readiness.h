// Tells which sockets can go on, and is where a relay loop sleeps: one private edge-triggered epoll descriptor, with
// the descriptor of the thread's uv loop in it as one more.
//
// A plain uv_poll_t for each socket costs fifteen epoll_ctl(2) a connection; here it is one to add and one to remove,
// and interest never changes. The other way round, this descriptor inside libuv's, each message costs a second wait.
// Edge-triggered means that whoever is told must go on until EAGAIN, or remember that he did not.
//
// Belongs to one loop's thread. Does not own the sockets. An event that was fetched before its socket was removed may
// still be delivered: tokens must carry a generation, and none is all ones.
#pragma once

#include <cstdint>
#include <functional>

#include "sys/result.h"
#include "sys/unique_fd.h"
#include "sys/uv.h"

namespace ravelin::relay {

class Readiness {
 public:
  struct Event {
    std::uint64_t token;
    std::uint32_t flags;  // EPOLLIN and so on
  };
  using OnEvent = std::function<void(Event)>;
  // `on_batch_end` follows each batch of events.
  Readiness(sys::Loop& loop, OnEvent on_event, std::function<void()> on_batch_end);

  [[nodiscard]] sys::Result<void> add(int fd, std::uint64_t token);
  // Must come before close(2): a closed descriptor with a duplicate elsewhere goes on reporting and can no longer be
  // removed.
  void remove(int fd);

  // Sleeps until a socket can go on, the uv loop has something to do, or `patience` milliseconds are over (-1: never),
  // then delivers a batch and runs what is due in the uv loop.
  void wait(int patience);

 private:
  sys::Loop& loop_;
  OnEvent on_event_;
  std::function<void()> on_batch_end_;
  sys::UniqueFd epoll_;
};

}  // namespace ravelin::relay
