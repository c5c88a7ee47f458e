#include <algorithm>
#include <deque>
#include <numeric>

#include "tests/bench/load/meter.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/stop.h"
#include "tests/bench/load/stream.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {
namespace {

constexpr auto kDrainDeadline = std::chrono::seconds(20);

struct Direction {
  std::string_view name;
  Task task;
  Stream::Ways ways;
};

constexpr std::array kDirections = {
    Direction{"up", Task::sink, {.sends = true, .receives = false}},
    Direction{"down", Task::source, {.sends = false, .receives = true}},
    Direction{"both", Task::both, {.sends = true, .receives = true}},
};

const Direction& direction_of(const Options& options) {
  for (const Direction& direction : kDirections) {
    if (direction.name == options.direction) return direction;
  }
  stop("a direction is up, down or both, not '{}'", options.direction);
}

std::uint64_t total(const std::deque<Stream>& streams, std::uint64_t (Stream::*what)() const) {
  return std::accumulate(streams.begin(), streams.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const Stream& stream) { return sum + (stream.*what)(); });
}

}  // namespace

nlohmann::json run_bulk(const Options& options, const Counters& counters) {
  Poller poller;
  const Meter meter(options, counters);
  const Reading before = meter.read();
  const Direction& direction = direction_of(options);
  std::deque<Stream> streams;
  for (unsigned i = 0; i < options.connections; ++i) {
    streams.emplace_back(poller, parse_address(options.to), i, direction.task, direction.ways);
  }

  poller.run_until(Clock::now() + options.warm_up);
  const Reading from = meter.read();
  const std::uint64_t received_from = total(streams, &Stream::received);
  poller.run_until(from.at + options.measure);
  const Reading to = meter.read();
  const std::uint64_t received_to = total(streams, &Stream::received);

  for (Stream& stream : streams) stream.finish();
  const bool drained = poller.run_until(Clock::now() + kDrainDeadline, [&] {
    return std::all_of(streams.begin(), streams.end(), [](const Stream& stream) { return stream.done(); });
  });
  const Reading after = meter.read();
  const bool exact = after.received - before.received == total(streams, &Stream::sent) &&
                     after.sent - before.sent == total(streams, &Stream::received);

  nlohmann::json result = cost(from, to);
  result["bytes_down"] = received_to - received_from;
  result["drained"] = drained;
  result["exact"] = exact;
  result["errors"] = std::count_if(streams.begin(), streams.end(), [](const Stream& s) { return s.error() != 0; }) +
                     (drained && exact ? 0 : 1);
  return result;
}

}  // namespace ravelin::bench
