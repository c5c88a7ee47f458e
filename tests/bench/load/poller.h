// The generator's event loop: level-triggered epoll, one handler a descriptor, no timer but the deadline of a wait.
// One thread. A handler must not be destroyed while the poller dispatches, except by itself as its last act.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>

#include "sys/unique_fd.h"

namespace ravelin::bench {

using Clock = std::chrono::steady_clock;

class Ready {
 public:
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~Ready() = default;
};

class Poller {
 public:
  Poller();

  // Closing the descriptor ends its registration: nothing here duplicates one.
  void add(int fd, std::uint32_t events, Ready& handler);
  void change(int fd, std::uint32_t events, Ready& handler);

  // Waits until something is ready or the deadline has come, and dispatches what is ready.
  void turn(Clock::time_point deadline);
  void run_until(Clock::time_point deadline);

  // Turns until `done` holds; false when the deadline came first.
  template <class Condition>
  bool run_until(Clock::time_point deadline, Condition done) {
    while (!done()) {
      if (Clock::now() >= deadline) return false;
      turn(deadline);
    }
    return true;
  }

 private:
  sys::UniqueFd epoll_;
};

}  // namespace ravelin::bench
