// bench_load: `origin` serves, every other word is a workload of the client side that prints one JSON object.
#include <csignal>
#include <cstdio>
#include <string_view>

#include "tests/bench/load/origin.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/stop.h"
#include "tests/bench/load/workload.h"

namespace {

using namespace ravelin::bench;

struct Workload {
  std::string_view name;
  nlohmann::json (*run)(const Options&, const Counters&);
};

constexpr std::array kWorkloads = {
    Workload{"bulk", run_bulk},   Workload{"ping-pong", run_ping_pong},   Workload{"requests", run_requests},
    Workload{"idle", run_idle},   Workload{"heartbeats", run_heartbeats}, Workload{"stall", run_stall},
    Workload{"exact", run_exact},
};

void serve(const Options& options) {
  ravelin::sys::UniqueFd listener = listen_on(parse_address(options.listen));
  fmt::print("{}\n", address_text(local_address(listener.get())));
  std::fflush(stdout);
  Origin(std::move(listener), map_counters(options.counters)).run();
}

nlohmann::json headers(const Counters& counters) {
  return {{"v2", counters.header_v2.load()},
          {"v1", counters.header_v1.load()},
          {"none", counters.header_none.load()},
          {"wrong", counters.header_wrong.load()}};
}

void drive(const Workload& workload, const Options& options) {
  const Counters& counters = map_counters(options.counters);
  nlohmann::json result = workload.run(options, counters);
  result["workload"] = workload.name;
  result["headers"] = headers(counters);
  fmt::print("{}\n", result.dump());
}

}  // namespace

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "origin") serve(parse_options(count - 2, words + 2));
  for (const Workload& workload : kWorkloads) {
    if (workload.name != what) continue;
    drive(workload, parse_options(count - 2, words + 2));
    return 0;
  }
  fmt::print(stderr, "usage: bench_load origin|bulk|ping-pong|requests|idle|heartbeats|stall|exact OPTION VALUE...\n{}",
             options_text());
  return 2;
}
