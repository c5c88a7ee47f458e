// One client connection that asks questions and waits for their answers, one at a time. Its first question travels with
// the order in one segment, as a ClientHello or a request line would. Owned by a workload, which outlives the poller's
// last turn; restarted in place with connect() after close().
#pragma once

#include <netinet/in.h>

#include <cstdint>

#include "sys/unique_fd.h"
#include "tests/bench/load/poller.h"

namespace ravelin::bench {

class Asker;

class AskerOwner {
 public:
  // The whole answer has come, `took` after the question (or after connect(), for the first one).
  virtual void answered(Asker& asker, std::chrono::nanoseconds took) = 0;
  // The connection is gone; the asker is closed already.
  virtual void failed(Asker& asker, int error) = 0;

 protected:
  ~AskerOwner() = default;
};

struct Sizes {
  std::uint32_t question = 0;  // bytes, not counting the order
  std::uint32_t answer = 0;    // bytes
};

class Asker final : public Ready {
 public:
  Asker(Poller& poller, AskerOwner& owner, const sockaddr_in& to, Sizes sizes)
      : poller_(poller), owner_(owner), to_(to), sizes_(sizes) {}

  void connect(unsigned turn);
  void ask() { ask(Clock::now()); }
  // Counts the answer's time from `since`: an open-loop schedule's due time.
  void ask(Clock::time_point since);
  void close();

  [[nodiscard]] bool waiting() const { return state_ != State::quiet && state_ != State::closed; }

  void on_ready(std::uint32_t events) override;

 private:
  enum class State { closed, connecting, asking, listening, quiet };

  void send_first();
  void send_rest();
  void receive();
  void fail(int error);
  void watch(std::uint32_t events);

  Poller& poller_;
  AskerOwner& owner_;
  const sockaddr_in to_;
  const Sizes sizes_;
  sys::UniqueFd fd_;
  State state_ = State::closed;
  std::uint32_t watched_ = 0;
  std::size_t unsent_ = 0;
  std::size_t got_ = 0;
  Clock::time_point since_;
};

}  // namespace ravelin::bench
