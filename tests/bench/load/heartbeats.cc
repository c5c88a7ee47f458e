#include "tests/bench/load/crowd.h"
#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {
namespace {

// Lets one session after the other speak at its due time. Times count from the due time, so that a late generator or a
// slow proxy cannot hide behind questions that were never asked (an open loop).
class Schedule {
 public:
  Schedule(Poller& poller, Crowd& crowd, std::chrono::nanoseconds interval)
      : poller_(poller), crowd_(crowd), step_(interval / static_cast<std::int64_t>(crowd.size())), due_(Clock::now()) {}

  void run_until(Clock::time_point end) {
    while (due_ < end) {
      if (Clock::now() < due_) {
        poller_.turn(due_);
        continue;
      }
      Asker& asker = crowd_.at(next_);
      if (asker.waiting()) {
        ++skipped_;
      } else {
        asker.ask(due_);
      }
      next_ = (next_ + 1) % crowd_.size();
      due_ += step_;
    }
    poller_.run_until(end);
  }

  // Sessions whose last question was unanswered after a whole interval.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  Poller& poller_;
  Crowd& crowd_;
  const std::chrono::nanoseconds step_;
  Clock::time_point due_;
  std::size_t next_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace

nlohmann::json run_heartbeats(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  Crowd crowd(poller, parse_address(options.to), {options.question, options.answer});
  crowd.open(options.connections, options.in_flight);

  Schedule schedule(poller, crowd, options.interval);
  schedule.run_until(Clock::now() + options.warm_up);
  crowd.times().clear();
  const Reading from = meter.read();
  schedule.run_until(from.at + options.measure);
  const Reading to = meter.read();

  nlohmann::json result = cost(from, to);
  result["sessions"] = crowd.size();
  result["interval_ms"] = options.interval.count();
  result["messages"] = crowd.times().count();
  result["latency_us"] = crowd.times().summary();
  result["errors"] = crowd.errors() + schedule.skipped();
  return result;
}

}  // namespace ravelin::bench
