#include "admin/pages.h"

#include <nlohmann/json.hpp>

#include "admin/client.h"
#include "running_server.h"

using namespace ravelin;
using namespace admin::test;
using admin::ask;

namespace {

constexpr admin::FamilySpec kUp{.name = "test_up", .help = "One.", .type = admin::MetricType::gauge};

}  // namespace

TEST_CASE("every daemon shows its metrics and its health") {
  admin::Metrics metrics;
  metrics.add(kUp, [](admin::Family& family) { family.value({}, 1U); });
  const admin::Readiness readiness;
  RunningServer running([&](RunningServer& server) { add_standard_pages(server.server(), metrics, readiness); });
  const auto shown = ask(running.at_tcp, {.target = "/metrics"}, kLong);
  REQUIRE(shown);
  CHECK(shown->content_type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(shown->body == "# HELP test_up One.\n# TYPE test_up gauge\ntest_up 1\n");
  const auto health = ask(running.at_unix, {.target = "/healthz"}, kLong);
  REQUIRE(health);
  CHECK(health->status == 200);
  CHECK(health->body == "ok\n");
  CHECK(ask(running.at_unix, {.target = "/readyz"}, kLong)->status == 200);
}

TEST_CASE("a daemon that is not ready says why, a reason a line") {
  const admin::Metrics metrics;
  admin::Readiness readiness;
  readiness.add([](admin::Readiness::Reasons&) {});
  readiness.add([](admin::Readiness::Reasons& reasons) {
    reasons.emplace_back("pool main: no origin reachable");
    reasons.emplace_back("two\nlines");
  });
  RunningServer running([&](RunningServer& server) { add_standard_pages(server.server(), metrics, readiness); });
  const auto answer = ask(running.at_unix, {.target = "/readyz"}, kLong);
  REQUIRE(answer);
  CHECK(answer->status == 503);
  CHECK(answer->body == "pool main: no origin reachable\ntwo lines\n");
}

TEST_CASE("an answer in JSON is valid whatever bytes its values hold") {
  const auto response = admin::json_response({{"name", "\xff"}, {"n", 1}});
  CHECK(response.content_type == "application/json");
  CHECK(nlohmann::json::parse(response.body)["name"] == "\xEF\xBF\xBD");
  const auto error = admin::json_error(404, "no session 7");
  CHECK(error.status == 404);
  CHECK(error.body == "{\"error\":\"no session 7\"}\n");
}

TEST_CASE("who asks for a page that is not there is told which ones are") {
  const admin::Metrics metrics;
  const admin::Readiness readiness;
  RunningServer running([&](RunningServer& server) { add_standard_pages(server.server(), metrics, readiness); });
  const auto answer = ask(running.at_unix, {.target = "/metric"}, kLong);
  REQUIRE(answer);
  CHECK(answer->status == 404);
  CHECK(answer->body == "nothing is here; there are: /healthz /metrics /readyz\n");
}
