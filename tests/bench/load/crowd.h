// A number of sessions set up with one exchange each, a few at a time, and then left in peace until asked to speak.
#pragma once

#include <netinet/in.h>

#include <deque>
#include <functional>

#include "tests/bench/load/asker.h"
#include "tests/bench/load/histogram.h"

namespace ravelin::bench {

class Crowd final : private AskerOwner {
 public:
  Crowd(Poller& poller, const sockaddr_in& to, Sizes sizes) : poller_(poller), to_(to), sizes_(sizes) {}

  // Brings the crowd to `count` sessions; ends the program when they do not stand within two minutes.
  void open(std::size_t count, unsigned in_flight);

  [[nodiscard]] std::size_t size() const { return askers_.size(); }
  [[nodiscard]] Asker& at(std::size_t index) { return askers_[index]; }
  // The times of all answers since the last clear().
  [[nodiscard]] Histogram& times() { return times_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

  // What follows an answer once the crowd stands; nothing unless set.
  std::function<void(Asker&)> then;

 private:
  void answered(Asker& asker, std::chrono::nanoseconds took) override;
  void failed(Asker& asker, int error) override;
  void open_one();

  Poller& poller_;
  const sockaddr_in to_;
  const Sizes sizes_;
  std::deque<Asker> askers_;  // addresses stay while it grows
  std::size_t wanted_ = 0;
  std::size_t standing_ = 0;
  std::uint64_t errors_ = 0;
  int last_error_ = 0;
  Histogram times_;
};

}  // namespace ravelin::bench
