#include "tests/bench/load/crowd.h"

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

constexpr auto kSetUpDeadline = std::chrono::seconds(120);

}  // namespace

void Crowd::open(std::size_t count, unsigned in_flight) {
  wanted_ = count;
  while (askers_.size() < wanted_ && askers_.size() - standing_ < in_flight) open_one();
  const bool stand =
      poller_.run_until(Clock::now() + kSetUpDeadline, [&] { return standing_ >= wanted_ || errors_ > 0; });
  if (!stand || errors_ > 0) {
    stop("only {} of {} sessions were set up: {}", standing_, wanted_,
         errors_ > 0 ? std::strerror(last_error_) : "the time was up");
  }
}

void Crowd::open_one() {
  askers_.emplace_back(poller_, static_cast<AskerOwner&>(*this), to_, sizes_);
  askers_.back().connect(static_cast<unsigned>(askers_.size()));
}

void Crowd::answered(Asker& asker, std::chrono::nanoseconds took) {
  times_.add(took);
  if (standing_ < wanted_) {
    ++standing_;
    if (askers_.size() < wanted_) open_one();
    return;
  }
  if (then) then(asker);
}

void Crowd::failed(Asker&, int error) {
  ++errors_;
  last_error_ = error;
}

}  // namespace ravelin::bench
