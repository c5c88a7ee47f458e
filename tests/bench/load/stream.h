// One client connection that sends, receives, or both, as fast as the socket takes and gives. Owned by a workload.
#pragma once

#include <netinet/in.h>

#include <cstdint>

#include "sys/unique_fd.h"
#include "tests/bench/load/order.h"
#include "tests/bench/load/poller.h"

namespace ravelin::bench {

class Stream final : public Ready {
 public:
  struct Ways {
    bool sends = false;
    bool receives = false;
  };

  Stream(Poller& poller, const sockaddr_in& to, unsigned turn, Task task, Ways ways);

  // No more is sent; what still comes is received until the peer's FIN.
  void finish();

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

  void on_ready(std::uint32_t events) override;

 private:
  void stop_with(int error);

  Poller& poller_;
  sys::UniqueFd fd_;
  bool done_ = false;
  int error_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace ravelin::bench
