#include <deque>

#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/stream.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 100ms;    // between two looks at the memory
constexpr auto kStill = 1000ms;  // nothing moved for so long: the flow has stopped
constexpr auto kLongest = 15s;
constexpr std::uint64_t kMostPerConnection = 512ULL << 20;  // beyond this, call it unbounded and spare the machine

std::uint64_t sum(const nlohmann::json& memory, const char* key) {
  std::uint64_t total = 0;
  for (const nlohmann::json& process : memory) total += process.at(key).get<std::uint64_t>();
  return total;
}

}  // namespace

nlohmann::json run_stall(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  const bool up = options.direction == "up";
  const Task task = !up ? Task::source : options.slow ? Task::slow : Task::stall;
  const nlohmann::json host_before = host_memory();
  const nlohmann::json memory_before = process_memory(options.proxies);
  const Reading from = meter.read();

  std::deque<Stream> streams;
  for (unsigned i = 0; i < options.connections; ++i) {
    streams.emplace_back(poller, parse_address(options.to), i, task, Stream::Ways{.sends = up, .receives = false});
  }
  // What one end has given and the other has not taken lies in sockets, pipes and the proxy.
  const auto held = [&] {
    std::uint64_t given = 0;
    for (const Stream& stream : streams) given += stream.sent();
    const Reading now = meter.read();
    return up ? given - (now.received - from.received) : now.sent - from.sent;
  };

  const auto start = Clock::now();
  auto last_growth = start;
  std::uint64_t most = 0;
  std::uint64_t most_anon = 0;
  std::uint64_t most_tcp = 0;
  while (Clock::now() - start < kLongest && Clock::now() - last_growth < kStill &&
         most < kMostPerConnection * options.connections) {
    poller.run_until(Clock::now() + kLook);
    const std::uint64_t now = held();
    if (now > most + most / 100) last_growth = Clock::now();
    most = std::max(most, now);
    most_anon = std::max(most_anon, sum(process_memory(options.proxies), "rss_anon"));
    most_tcp = std::max(most_tcp, host_memory().at("tcp").get<std::uint64_t>());
  }
  const Reading to = meter.read();

  nlohmann::json result = cost(from, to);
  result["stopped"] = Clock::now() - last_growth >= kStill;
  result["held"] = most;
  result["proxy_memory_growth"] =
      static_cast<std::int64_t>(most_anon) - static_cast<std::int64_t>(sum(memory_before, "rss_anon"));
  result["tcp_memory_growth"] = static_cast<std::int64_t>(most_tcp) - host_before.at("tcp").get<std::int64_t>();
  result["available_fell"] =
      host_before.at("available").get<std::int64_t>() - host_memory().at("available").get<std::int64_t>();
  result["errors"] = 0;
  for (const Stream& stream : streams) {
    if (stream.error() != 0) result["errors"] = result["errors"].get<int>() + 1;
  }
  return result;
}

}  // namespace ravelin::bench
