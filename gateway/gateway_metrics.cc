#include "gateway/gateway_metrics.h"

#include <array>

#include "gateway/counters.h"

namespace ravelin::gateway {
namespace {

using admin::Family;
using admin::FamilySpec;
using admin::MetricType;

struct Total {
  FamilySpec spec;
  unsigned counter;
};

constexpr std::array kTotals{
    Total{{.name = "gateway_trusted_without_header_total",
           .help = "Sessions from a trusted edge that sent no header; at zero, policy require is safe.",
           .type = MetricType::counter},
          kTrustedWithoutHeader},
    Total{{.name = "gateway_silent_total",
           .help = "Connections that ended without a byte from the client.",
           .type = MetricType::counter},
          kSilent},
    Total{{.name = "gateway_header_only_total",
           .help = "Connections that ended with nothing behind their header.",
           .type = MetricType::counter},
          kHeaderOnly},
    Total{{.name = "gateway_local_total",
           .help = "Connections whose sender spoke for itself (LOCAL), as health checks do.",
           .type = MetricType::counter},
          kLocal},
    Total{{.name = "gateway_log_lines_held_back_total",
           .help = "Lines of refused and failed sessions that were not written, their budget being spent.",
           .type = MetricType::counter},
          kLinesHeldBack},
};

constexpr FamilySpec kOpenings{.name = "gateway_openings_total",
                               .help = "What clients began with: a header, none, or what was refused.",
                               .type = MetricType::counter,
                               .labels = {"outcome", "version", "trusted"}};
constexpr FamilySpec kRefused{.name = "gateway_refused_total",
                              .help = "Connections refused for their header or for want of one.",
                              .type = MetricType::counter,
                              .labels = {"reason"}};
constexpr FamilySpec kPeers{.name = "gateway_peers", .help = "Inner connections whose peer can be looked up."};

constexpr std::array<std::string_view, 3> kOutcomes{"header", "none", "refused"};
constexpr std::array<std::string_view, 3> kVersions{"none", "v1", "v2"};
static_assert(kOutcomes.size() == static_cast<std::size_t>(Opened::kCount));

void collect_openings(Family& family, const Count& count) {
  for (std::size_t outcome = 0; outcome < kOutcomes.size(); ++outcome) {
    for (std::size_t version = 0; version < kVersions.size(); ++version) {
      for (const bool trusted : {false, true}) {
        const unsigned counter = opened(static_cast<Opened>(outcome), static_cast<ppv2::Version>(version), trusted);
        family.value({kOutcomes[outcome], kVersions[version], trusted ? "true" : "false"}, count(counter));
      }
    }
  }
}

void collect_refusals(Family& family, const Count& count) {
  for (std::size_t reason = 1; reason < ppv2::kReasonCount; ++reason) {
    const auto value = static_cast<ppv2::Reason>(reason);
    family.value({ppv2::name(value)}, count(refusal(value)));
  }
}

}  // namespace

void add_gateway_metrics(admin::Metrics& metrics, Count count, const ppv2::PeerMap& peers) {
  metrics.add(kOpenings, [count](Family& family) { collect_openings(family, count); });
  metrics.add(kRefused, [count](Family& family) { collect_refusals(family, count); });
  for (const Total& total : kTotals) {
    metrics.add(total.spec, [count, counter = total.counter](Family& family) { family.value({}, count(counter)); });
  }
  metrics.add(kPeers, [&peers](Family& family) { family.value({}, peers.size()); });
}

}  // namespace ravelin::gateway
