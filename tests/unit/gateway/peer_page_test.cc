#include "gateway/peer_page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sessions.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;

namespace {

// A map with one entry, under 127.0.0.1:41234.
struct OnePeer {
  ppv2::PeerMap peers;
  ppv2::PeerMap::Guard guard;

  explicit OnePeer(const Octets& bytes) {
    Rig rig;
    FakeSession session;
    (void)rig.policy->inspect(session.view(), bytes + octets(kHello), false);
    guard = peers.put(to_ppv2(at("127.0.0.1:41234")), peer_of(session.view()));
  }

  [[nodiscard]] admin::Response ask(std::string_view query) const {
    const admin::Request request{.method = "GET", .target = admin::Target::parse("/peer" + std::string(query)).value()};
    return peer_page(peers, request);
  }
};

}  // namespace

TEST_CASE("from outside, the peer of an inner connection is found by each of its spellings") {
  const OnePeer one(edge_header());
  for (const std::string text : {"127.0.0.1:41234", "ipv4:127.0.0.1:41234"}) {
    const auto response = one.ask("?inner=" + text);
    CHECK(response.status == 200);
    const auto peer = nlohmann::json::parse(response.body);
    CHECK(peer["inner"] == text);
    CHECK(peer["measured"] == "198.51.100.7:40112");
    CHECK(peer["claimed"] == "203.0.113.9:51234");
    CHECK(peer["claim_trusted"] == true);
    CHECK(peer["edge"] == "fra-1");
    CHECK(peer["edge_session"] == kEdgeSession);
    CHECK(peer["since"] == "2026-01-02T03:04:05.678Z");
  }
}

TEST_CASE("from outside, a peer without a claim has none") {
  const OnePeer one(octets(""));
  const auto peer = nlohmann::json::parse(one.ask("?inner=127.0.0.1:41234").body);
  CHECK(peer["claimed"].is_null());
  CHECK(peer["claim_trusted"] == false);
  CHECK(peer["edge"].is_null());
  CHECK(peer["edge_session"].is_null());
}

TEST_CASE("from outside, an unknown connection is a 404 and what names none a 400 with an example") {
  const OnePeer one(edge_header());
  CHECK(one.ask("?inner=127.0.0.1:41235").status == 404);
  CHECK(one.ask("?inner=ipv4:127.0.0.1:41235").status == 404);
  for (const std::string query : {"", "?inner=", "?inner=foo", "?inner=127.0.0.1"}) {
    const auto response = one.ask(query);
    CHECK(response.status == 400);
    CHECK(response.body.find("/peer?inner=127.0.0.1:41234") != std::string::npos);
  }
}
