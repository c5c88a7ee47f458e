#include "tests/bench/load/crowd.h"
#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {

nlohmann::json run_idle(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  Crowd crowd(poller, parse_address(options.to), {options.question, options.answer});

  const nlohmann::json host_before = host_memory();
  const nlohmann::json memory_before = process_memory(options.proxies);
  const Reading start = meter.read();
  crowd.open(options.connections, options.in_flight);
  const Reading standing = meter.read();

  poller.run_until(Clock::now() + options.warm_up);  // lets the last acknowledgements and closes settle
  const nlohmann::json memory = process_memory(options.proxies);
  const nlohmann::json host = host_memory();
  const Reading from = meter.read();
  poller.run_until(from.at + options.measure);
  const Reading to = meter.read();

  nlohmann::json result = cost(from, to);
  result["set_up"] = cost(start, standing);
  result["set_up"]["latency_us"] = crowd.times().summary();
  result["sessions"] = crowd.size();
  result["memory"] = {{"before", memory_before}, {"standing", memory}};
  result["host"] = {{"before", host_before}, {"standing", host}};
  result["errors"] = crowd.errors();
  return result;
}

}  // namespace ravelin::bench
