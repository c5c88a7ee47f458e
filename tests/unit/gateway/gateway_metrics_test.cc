#include "gateway/gateway_metrics.h"

#include <doctest/doctest.h>

#include "gateway/counters.h"

using namespace ravelin;
using namespace ravelin::gateway;

TEST_CASE("each outcome, version and trust has a counter of its own") {
  admin::Metrics metrics;
  const ppv2::PeerMap peers;
  const auto count = [](unsigned counter) -> std::uint64_t {
    if (counter == opened(Opened::header, ppv2::Version::v2, true)) return 7;
    if (counter == refusal(ppv2::Reason::crc_mismatch)) return 3;
    return counter == kTrustedWithoutHeader ? 2 : 0;
  };
  add_gateway_metrics(metrics, count, peers);
  const std::string text = metrics.text();
  const auto shows = [&](std::string_view line) { return text.find(std::string(line) + "\n") != std::string::npos; };
  CHECK(shows(R"(gateway_openings_total{outcome="header",version="v2",trusted="true"} 7)"));
  CHECK(shows(R"(gateway_openings_total{outcome="header",version="v2",trusted="false"} 0)"));
  CHECK(shows(R"(gateway_refused_total{reason="crc_mismatch"} 3)"));
  CHECK(shows("gateway_trusted_without_header_total 2"));
  CHECK(shows("gateway_silent_total 0"));
  CHECK(shows("gateway_peers 0"));
}
