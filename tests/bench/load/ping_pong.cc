#include "tests/bench/load/crowd.h"
#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {

nlohmann::json run_ping_pong(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  Crowd crowd(poller, parse_address(options.to), {options.question, options.answer});
  crowd.open(options.connections, options.in_flight);
  crowd.then = [](Asker& asker) { asker.ask(); };
  for (std::size_t i = 0; i < crowd.size(); ++i) crowd.at(i).ask();

  poller.run_until(Clock::now() + options.warm_up);
  crowd.times().clear();
  const Reading from = meter.read();
  poller.run_until(from.at + options.measure);
  const Reading to = meter.read();

  nlohmann::json result = cost(from, to);
  result["messages"] = crowd.times().count();
  result["latency_us"] = crowd.times().summary();
  result["errors"] = crowd.errors();
  return result;
}

}  // namespace ravelin::bench
