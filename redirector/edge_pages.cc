#include "redirector/edge_pages.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

#include "admin/pages.h"
#include "redirector/edge_policy.h"
#include "redirector/source_ports.h"
#include "relay/clock.h"
#include "sys/source_address.h"

namespace ravelin::redirector {
namespace {

using admin::Family;
using admin::FamilySpec;
using admin::MetricType;

constexpr auto kRelaxed = std::memory_order_relaxed;

nlohmann::json describe(const Candidate& candidate) {
  return {{"address", candidate.address},
          {"sessions", candidate.sessions.load(kRelaxed)},
          {"connect_attempts", candidate.attempts.load(kRelaxed)},
          {"connect_failures", candidate.failures.load(kRelaxed)},
          {"failing", candidate.avoid_until_ms.load(kRelaxed) != 0}};
}

nlohmann::json describe(const Pool::Origin& origin) {
  nlohmann::json addresses = nlohmann::json::array();
  for (const auto& candidate : origin.candidates) addresses.push_back(describe(*candidate));
  nlohmann::json out{{"origin", origin.endpoint.text()}, {"addresses", std::move(addresses)}};
  if (!origin.failure.empty()) out["resolve_error"] = origin.failure;
  return out;
}

nlohmann::json describe(const Pool& pool) {
  nlohmann::json origins = nlohmann::json::array();
  for (const auto& origin : pool.origins()) origins.push_back(describe(origin));
  nlohmann::json out{{"pool", pool.name()}, {"origins", std::move(origins)}};
  if (const std::string trouble = pool.trouble(relay::monotonic_ms()); !trouble.empty()) out["trouble"] = trouble;
  return out;
}

struct CandidateFamily {
  FamilySpec spec;
  std::uint64_t (*value)(const Candidate&);
};

constexpr std::array kCandidateFamilies{
    CandidateFamily{{.name = "redirector_origin_sessions",
                     .help = "Sessions assigned to an address of an origin and not ended.",
                     .labels = {"pool", "origin", "address"}},
                    [](const Candidate& candidate) -> std::uint64_t { return candidate.sessions.load(kRelaxed); }},
    CandidateFamily{
        {.name = "redirector_origin_failing",
         .help = "1 if the last connection to an address of an origin failed.",
         .labels = {"pool", "origin", "address"}},
        [](const Candidate& candidate) -> std::uint64_t { return candidate.avoid_until_ms.load(kRelaxed) != 0; }},
    CandidateFamily{{.name = "redirector_origin_connect_attempts_total",
                     .help = "Connections to an address of an origin tried since it came into its pool.",
                     .type = MetricType::counter,
                     .labels = {"pool", "origin", "address"}},
                    [](const Candidate& candidate) -> std::uint64_t { return candidate.attempts.load(kRelaxed); }},
    CandidateFamily{{.name = "redirector_origin_connect_failures_total",
                     .help = "Connections to an address of an origin that failed since it came into its pool.",
                     .type = MetricType::counter,
                     .labels = {"pool", "origin", "address"}},
                    [](const Candidate& candidate) -> std::uint64_t { return candidate.failures.load(kRelaxed); }},
};

constexpr FamilySpec kSourcePortsLeft{
    .name = "redirector_origin_source_ports_left",
    .help = "Sessions that the local ports still allow toward an address of an origin, those of other programs aside.",
    .labels = {"pool", "origin", "address"}};

constexpr FamilySpec kResolved{.name = "redirector_origin_resolved",
                               .help = "1 if the last attempt to resolve an origin's name gave addresses.",
                               .labels = {"pool", "origin"}};

struct SessionFamily {
  FamilySpec spec;
  EdgeCounter counter;
};

constexpr std::array kSessionFamilies{
    SessionFamily{{.name = "redirector_sessions_without_payload_total",
                   .help = "Sessions that ended without a byte of payload and wrote no line.",
                   .type = MetricType::counter},
                  kSessionsWithoutPayload},
    SessionFamily{{.name = "redirector_failed_sessions_held_back_total",
                   .help = "Failed sessions whose log line was held back because there were too many of them.",
                   .type = MetricType::counter},
                  kFailedSessionsHeldBack},
    SessionFamily{{.name = "redirector_source_ports_exhausted_total",
                   .help = "Connections to origins that failed because no source port was free.",
                   .type = MetricType::counter},
                  kSourcePortsExhausted},
};

}  // namespace

void add_edge_pages(admin::AdminServer& server, const std::vector<Pool>& pools) {
  server.route("GET", "/origins", [&pools](const admin::Request&) {
    nlohmann::json out = nlohmann::json::array();
    for (const Pool& pool : pools) out.push_back(describe(pool));
    return admin::json_response({{"pools", std::move(out)}});
  });
}

void add_edge_metrics(admin::Metrics& metrics, const std::vector<Pool>& pools) {
  for (const CandidateFamily& each : kCandidateFamilies) {
    metrics.add(each.spec, [&pools, value = each.value](Family& family) {
      for (const Pool& pool : pools) {
        for (const auto& candidate : pool.view()->candidates) {
          family.value({pool.name(), candidate->origin, candidate->address}, value(*candidate));
        }
      }
    });
  }
  metrics.add(kSourcePortsLeft, [&pools](Family& family) {
    const std::uint32_t ports = sys::local_port_count();
    for (const Pool& pool : pools) {
      for (const auto& candidate : pool.view()->candidates) {
        const auto all = source_ports(*pool.view(), *candidate, ports);
        const std::uint64_t taken = candidate->sessions.load(kRelaxed);
        if (all) family.value({pool.name(), candidate->origin, candidate->address}, *all - std::min(*all, taken));
      }
    }
  });
  metrics.add(kResolved, [&pools](Family& family) {
    for (const Pool& pool : pools) {
      for (const auto& origin : pool.origins()) {
        if (origin.is_name) family.value({pool.name(), origin.endpoint.text()}, origin.is_resolved() ? 1U : 0U);
      }
    }
  });
}

void add_session_metrics(admin::Metrics& metrics, const relay::Engine& engine) {
  for (const SessionFamily& each : kSessionFamilies) {
    metrics.add(each.spec,
                [&engine, counter = each.counter](Family& family) { family.value({}, engine.count(counter)); });
  }
}

void add_edge_conditions(admin::Readiness& readiness, const std::vector<Pool>& pools) {
  readiness.add([&pools](admin::Readiness::Reasons& reasons) {
    for (const Pool& pool : pools) {
      if (std::string trouble = pool.trouble(relay::monotonic_ms()); !trouble.empty())
        reasons.push_back(std::move(trouble));
    }
  });
}

}  // namespace ravelin::redirector
