#include "daemon/engine_metrics.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace ravelin::daemon {
namespace {

using admin::Family;
using admin::FamilySpec;
using admin::MetricType;

struct Total {
  relay::Counter counter;
  std::string_view name;
  std::string_view help;
};

constexpr std::array kTotals{
    Total{relay::kAccepted, "sessions_accepted_total", "Client connections accepted."},
    Total{relay::kAcceptPauses, "accept_pauses_total",
          "Times that accepting stopped at a limit that leaves connections in the backlog, or for want of "
          "descriptors."},
    Total{relay::kConnectAttempts, "connect_attempts_total", "Connections to origins tried."},
    Total{relay::kConnectFailures, "connect_failures_total", "Connections to origins that failed."},
    Total{relay::kPipesShort, "pipes_short_total", "Turns that copied bytes because no pipe was to be had."},
    Total{relay::kWakeupsWithoutProgress, "wakeups_without_progress_total",
          "Wake-ups of a session that moved no byte and changed nothing."},
    Total{relay::kResumedSessions, "sessions_resumed_total", "Sessions taken over from an earlier process."},
    Total{relay::kSourcesWithoutPlace, "sources_without_place_total",
          "Connections whose source counted together with others because the table of sources was full."},
    Total{relay::kUpgrades, "upgrades_total", "Processes that were replaced by a newer one, sessions and all."},
    Total{relay::kWorkerDeaths, "worker_deaths_total",
          "Processes that ended without being asked to, and whose sessions went on."},
};

}  // namespace

EngineMetrics::EngineMetrics(admin::Metrics& metrics, std::string_view prefix, std::string_view version,
                             const relay::Engine& engine, const sys::Log& log)
    : prefix_(prefix), version_(version) {
  metrics.add({.name = prefixed("build_info"), .help = "Always 1; the version is the label.", .labels = {"version"}},
              [this](Family& family) { family.value({version_}, 1U); });
  metrics.add({.name = prefixed("sessions"), .help = "Sessions now."},
              [&engine](Family& family) { family.value({}, engine.sessions()); });
  metrics.add({.name = prefixed("sessions_limit"), .help = "Sessions that are possible at once."},
              [&engine](Family& family) { family.value({}, engine.max_sessions()); });
  for (const Total& total : kTotals) {
    metrics.add({.name = prefixed(total.name), .help = total.help, .type = MetricType::counter},
                [&engine, counter = total.counter](Family& family) { family.value({}, engine.count(counter)); });
  }
  metrics.add({.name = prefixed("sessions_ended_total"),
               .help = "Sessions ended, by what ended them.",
               .type = MetricType::counter,
               .labels = {"reason"}},
              [&engine](Family& family) {
                for (unsigned reason = 1; reason < static_cast<unsigned>(relay::Reason::kCount); ++reason) {
                  family.value({name(static_cast<relay::Reason>(reason))}, engine.count(relay::kReasons + reason));
                }
              });
  metrics.add({.name = prefixed("limit_reached_total"),
               .help = "Connections refused at a limit, or, where it leaves them in the backlog, pauses of accepting.",
               .type = MetricType::counter,
               .labels = {"limit"}},
              [&engine](Family& family) {
                for (unsigned limit = 1; limit < static_cast<unsigned>(relay::Limit::kCount); ++limit) {
                  family.value({name(static_cast<relay::Limit>(limit))}, engine.count(relay::kLimitReached + limit));
                }
              });
  metrics.add({.name = prefixed("payload_bytes_total"),
               .help = "Payload given to its destination: up to origins, down to clients.",
               .type = MetricType::counter,
               .labels = {"direction"}},
              [&engine](Family& family) {
                family.value({"up"}, engine.count(relay::kBytesUp));
                family.value({"down"}, engine.count(relay::kBytesDown));
              });
  metrics.add({.name = prefixed("log_lines_dropped_total"),
               .help = "Log lines given up because nobody read stderr fast enough.",
               .type = MetricType::counter},
              [&log](Family& family) { family.value({}, log.dropped()); });
}

std::string_view EngineMetrics::prefixed(std::string_view name) {
  return *names_.emplace_back(std::make_unique<std::string>(fmt::format("{}_{}", prefix_, name)));
}

}  // namespace ravelin::daemon
