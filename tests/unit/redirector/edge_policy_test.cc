#include "redirector/edge_policy.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "redirector/balance.h"
#include "redirector/pool.h"
#include "sys/unique_fd.h"

using namespace ravelin;
using namespace ravelin::redirector;
using relay::Opening;
using relay::Reason;

namespace {

std::int64_t now() {
  return 1000;
}

// A policy over one pool, with sessions as the engine would bring them and a log that can be read.
struct Scene {
  explicit Scene(std::initializer_list<const char*> origins, unsigned connect_attempts = 3) {
    PoolSettings settings{
        .name = "main", .balancing = Balancing::first_available, .connect_attempts = connect_attempts};
    for (const char* origin : origins) settings.origins.push_back({*sys::Endpoint::parse(origin)});
    pool.emplace(settings, [] { return 0.5; });
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    read_end = sys::UniqueFd(ends[0]);
    write_end = sys::UniqueFd(ends[1]);
    log.emplace(sys::LogFormat::json, sys::LogLevel::info, write_end.get());
    facts.edge_name = "edge-1";
    facts.listeners.push_back({.name = "front"});
    policy.emplace(facts, *log, counters, EdgePolicy::Views{pool->view()}, now);
  }

  struct Session {
    relay::SessionRecord record;
    EdgeSession extension;
    [[nodiscard]] relay::SessionView view() { return {record, std::as_writable_bytes(std::span(&extension, 1))}; }
  };

  // The next address tried, as the engine would try it.
  std::string next(Session& session) {
    const auto target = policy->next_target(session.view());
    if (!target) return "none";
    ++session.record.attempts;
    session.record.origin = target->origin;
    session.record.origin_peer =
        sys::SocketAddress::from(reinterpret_cast<const sockaddr*>(&target->address), target->length);
    return session.record.origin_peer.text();
  }

  void connected(Session& session) {
    std::array<std::byte, relay::kMaxHeader> header;
    header_size = policy->write_header(session.view(), header);
    policy->relaying(session.view());
  }

  Candidate& candidate(std::size_t index) { return *pool->view()->candidates.at(index); }

  // Ends the log; its lines.
  std::vector<nlohmann::json> lines() {
    log.reset();
    write_end.reset();
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t n; (n = ::read(read_end.get(), bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(n));
    }
    std::vector<nlohmann::json> result;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      result.push_back(nlohmann::json::parse(text.substr(at, text.find('\n', at) - at)));
    }
    return result;
  }

  EdgeFacts facts;
  relay::CounterBlock counters;
  std::optional<Pool> pool;
  sys::UniqueFd read_end;
  sys::UniqueFd write_end;
  std::optional<sys::Log> log;
  std::optional<EdgePolicy> policy;
  std::size_t header_size = 0;
};

}  // namespace

TEST_CASE("the client's first byte, whatever it is, opens the way to an origin") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  CHECK(scene.policy->inspect(session.view(), {}, false).verdict == Opening::Verdict::need_more);
  const std::byte byte{};
  CHECK(scene.policy->inspect(session.view(), {&byte, 1}, false).verdict == Opening::Verdict::proceed);
  CHECK(scene.policy->inspect(session.view(), {&byte, 1}, true).verdict == Opening::Verdict::proceed);
  const auto opening = scene.policy->inspect(session.view(), {}, true);
  CHECK(opening.verdict == Opening::Verdict::close);
  CHECK(opening.reason == Reason::silent);
}

TEST_CASE("when an origin fails the session goes on to one that it has not tried") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443"});
  Scene::Session session;
  CHECK(scene.next(session) == "192.0.2.1:443");
  scene.policy->attempt_failed(session.view(), ECONNREFUSED);
  CHECK(scene.next(session) == "192.0.2.2:443");
  scene.policy->attempt_failed(session.view(), ETIMEDOUT);
  CHECK(scene.next(session) == "none");
  CHECK(scene.candidate(0).failures == 1);
  CHECK(scene.candidate(1).failures == 1);
}

TEST_CASE("a session tries no more origins than it may") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443", "192.0.2.3:443"}, 2);
  Scene::Session session;
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK(scene.next(session) != "none");
    scene.policy->attempt_failed(session.view(), ECONNREFUSED);
  }
  CHECK(scene.next(session) == "none");
}

TEST_CASE("what this machine lacks is not held against an origin") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443"});
  Scene::Session session;
  (void)scene.next(session);
  scene.policy->attempt_failed(session.view(), EADDRNOTAVAIL);
  Scene::Session other;
  CHECK(scene.next(other) == "192.0.2.1:443");
}

TEST_CASE("a session counts from its assignment to its end, once, whatever happens between") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443"});
  Scene::Session session;
  (void)scene.next(session);
  CHECK(scene.candidate(0).sessions == 1);
  scene.policy->attempt_failed(session.view(), ECONNREFUSED);
  CHECK(scene.candidate(0).sessions == 0);
  (void)scene.next(session);
  scene.connected(session);
  CHECK(scene.candidate(1).sessions == 1);
  scene.policy->ended(session.view());
  CHECK(scene.candidate(1).sessions == 0);
}

TEST_CASE("a session whose origin has left its pool is still counted off in the end") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  (void)scene.next(session);
  scene.connected(session);
  const auto used = scene.pool->view()->candidates[0];
  PoolSettings settings{.name = "main"};
  settings.origins.push_back({*sys::Endpoint::parse("192.0.2.9:443")});
  scene.pool->apply(settings);
  scene.policy->replace(0, scene.pool->view());
  CHECK(used->sessions == 1);
  scene.policy->ended(session.view());
  CHECK(used->sessions == 0);
  scene.policy->replace(0, scene.pool->view());
  CHECK(used.use_count() == 1);  // and nobody keeps what nobody needs
}

TEST_CASE("a session taken over from another process counts where it is connected to") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443"});
  Scene::Session session;
  session.extension = {.process = 4711, .counted = 1};
  session.record.origin = 77;
  session.record.attempts = 1;
  session.record.origin_peer = *sys::SocketAddress::parse("192.0.2.2:443");
  scene.policy->relaying(session.view());
  CHECK(scene.candidate(1).sessions == 1);
  scene.policy->ended(session.view());
  CHECK(scene.candidate(1).sessions == 0);
}

TEST_CASE("a session that another process had begun to connect may try every origin again") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  session.extension = {.process = 4711, .counted = 1};
  session.record.tried = ~std::uint64_t{0};
  session.record.attempts = 64;
  CHECK(scene.next(session) == "192.0.2.1:443");
  scene.policy->attempt_failed(session.view(), ECONNREFUSED);
  CHECK(scene.candidate(0).sessions == 0);
  CHECK(scene.next(session) == "none");
}

TEST_CASE("a session whose origin the settings have lost ends when its pool says so") {
  Scene scene({"192.0.2.1:443", "192.0.2.2:443"});
  Scene::Session session;
  CHECK(scene.next(session) == "192.0.2.1:443");
  scene.connected(session);
  CHECK(session.record.end_by_ms == 0);
  const auto lose = [&](std::optional<sys::Duration> close_after) {
    scene.pool->apply({.name = "main",
                       .balancing = Balancing::first_available,
                       .close_removed_after = close_after,
                       .origins = {{*sys::Endpoint::parse("192.0.2.2:443")}}});
    scene.policy->replace(0, scene.pool->view());
    scene.policy->review(session.view());
  };
  SUBCASE("never") {
    lose(std::nullopt);
    CHECK(session.record.end_by_ms == 0);
  }
  SUBCASE("at once") {
    lose(sys::Duration(0));
    CHECK(session.record.end_by_ms == now());
  }
  SUBCASE("after a while, from the moment of the loss") {
    lose(sys::Duration(5000));
    CHECK(session.record.end_by_ms == now() + 5000);
    lose(sys::Duration(9000));
    CHECK(session.record.end_by_ms == now() + 5000);
  }
  SUBCASE("not if the origin comes back") {
    lose(sys::Duration(5000));
    scene.pool->apply({.name = "main", .origins = {{*sys::Endpoint::parse("192.0.2.1:443")}}});
    scene.policy->replace(0, scene.pool->view());
    scene.policy->review(session.view());
    CHECK(session.record.end_by_ms == 0);
  }
  SUBCASE("also if another process finds it so") {
    EdgeFacts facts = scene.facts;
    facts.process = 4711;
    Pool pool({.name = "main",
               .close_removed_after = sys::Duration(0),
               .origins = {{*sys::Endpoint::parse("192.0.2.2:443")}}},
              [] { return 0.5; });
    EdgePolicy next(facts, *scene.log, scene.counters, EdgePolicy::Views{pool.view()}, now);
    next.relaying(session.view());
    CHECK(session.record.end_by_ms == now());
  }
  scene.policy->ended(session.view());
}

TEST_CASE("a finished session writes one line that has all its fields") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  session.record.client = *sys::SocketAddress::parse("203.0.113.5:4711");
  (void)scene.next(session);
  scene.connected(session);
  session.record.up.moved = 10;
  session.record.reason = Reason::finished;
  scene.policy->ended(session.view());
  const auto lines = scene.lines();
  REQUIRE(lines.size() == 1);
  std::vector<std::string> names;
  for (const auto& [name, value] : lines[0].items()) names.push_back(name);
  for (const char* name : {"id", "edge", "listener", "client", "origin", "attempts", "bytes_up", "bytes_down",
                           "duration_ms", "end_side", "end_kind", "reason", "rtt_client_us", "rtt_origin_us"}) {
    CAPTURE(name);
    CHECK(lines[0].contains(name));
  }
  CHECK(names.size() == 14 + 3);  // with ts, level and event
  CHECK(lines[0]["event"] == "session_closed");
  CHECK(lines[0]["edge"] == "edge-1");
  CHECK(lines[0]["listener"] == "front");
  CHECK(lines[0]["client"] == "203.0.113.5:4711");
  CHECK(lines[0]["origin"] == "192.0.2.1:443");
}

TEST_CASE("a session without payload writes no line and is counted") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  session.record.reason = Reason::silent;
  scene.policy->ended(session.view());
  CHECK(scene.counters.value(kSessionsWithoutPayload) == 1);
  CHECK(scene.lines().empty());
}

TEST_CASE("a session that found no origin says why") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  (void)scene.next(session);
  scene.policy->attempt_failed(session.view(), ECONNREFUSED);
  session.record.reason = Reason::connect_refused;
  scene.policy->ended(session.view());
  const auto lines = scene.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["level"] == "warning");
  CHECK(lines[0]["reason"] == "connect_refused");
  CHECK(lines[0]["origin"] == "192.0.2.1:443");
}

TEST_CASE("a listener without headers sends none") {
  Scene scene({"192.0.2.1:443"});
  Scene::Session session;
  (void)scene.next(session);
  scene.connected(session);
  CHECK(scene.header_size > 0);
  scene.facts.listeners[0].proxy_header = false;
  scene.connected(session);
  CHECK(scene.header_size == 0);
}
