#include <deque>

#include "tests/bench/load/crowd.h"
#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {
namespace {

// Keeps `connections` requests under way, each on a connection of its own.
class Requests final : private AskerOwner {
 public:
  Requests(Poller& poller, const Options& options) {
    for (unsigned i = 0; i < options.connections; ++i) {
      askers_.emplace_back(poller, static_cast<AskerOwner&>(*this), parse_address(options.to),
                           Sizes{options.question, options.answer});
    }
  }

  void start() {
    for (Asker& asker : askers_) asker.connect(turn_++);
  }
  [[nodiscard]] Histogram& times() { return times_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

 private:
  void answered(Asker& asker, std::chrono::nanoseconds took) override {
    times_.add(took);
    asker.close();
    asker.connect(turn_++);
  }
  // A failed request is not tried again: that could spin.
  void failed(Asker&, int) override { ++errors_; }

  std::deque<Asker> askers_;
  Histogram times_;
  unsigned turn_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace

nlohmann::json run_requests(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  Crowd held(poller, parse_address(options.to), {options.question, options.answer});
  if (options.held > 0) held.open(options.held, options.in_flight);

  Requests requests(poller, options);
  requests.start();
  poller.run_until(Clock::now() + options.warm_up);
  requests.times().clear();
  const Reading from = meter.read();
  poller.run_until(from.at + options.measure);
  const Reading to = meter.read();

  nlohmann::json result = cost(from, to);
  result["held"] = held.size();
  result["messages"] = requests.times().count();
  result["latency_us"] = requests.times().summary();
  result["errors"] = requests.errors() + held.errors();
  return result;
}

}  // namespace ravelin::bench
