#include "gateway/gateway_policy.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "gateway/counters.h"
#include "sessions.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;
using relay::Opening;
using relay::Reason;

namespace {

sys::UniqueFd tcp_socket() {
  return sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

void end(GatewayPolicy& policy, FakeSession& session, Reason reason) {
  session.record.reason = reason;
  policy.ending(session.view());
  policy.ended(session.view());
}

}  // namespace

TEST_CASE("a session is in the peer map from before its connect until it ends") {
  Rig rig;
  FakeSession session;
  (void)rig.policy->inspect(session.view(), edge_header() + octets(kHello), false);
  const auto fd = tcp_socket();
  REQUIRE(rig.policy->prepare(session.view(), fd.get(), {}));
  const auto local = sys::SocketAddress::local_of(fd.get()).value();
  CHECK(session.kept.inner == local);
  const auto peer = rig.peers.find(to_ppv2(local));
  REQUIRE(peer);
  CHECK(from_ppv2(peer->peer) == at("198.51.100.7:40112"));
  CHECK(from_ppv2(peer->claimed_source) == at("203.0.113.9:51234"));
  CHECK(peer->claim_trusted);
  CHECK(peer->edge() == "fra-1");
  CHECK(peer->unique_id() == kEdgeSession);
  CHECK(peer->accepted_at == session.record.accepted_wall_us);
  rig.policy->ending(session.view());
  CHECK_FALSE(rig.peers.find(to_ppv2(local)));
  CHECK(rig.peers.size() == 0);
}

TEST_CASE("an attempt that failed leaves no entry behind") {
  Rig rig;
  FakeSession session;
  const auto fd = tcp_socket();
  REQUIRE(rig.policy->prepare(session.view(), fd.get(), {}));
  CHECK(rig.peers.size() == 1);
  rig.policy->attempt_failed(session.view(), ECONNREFUSED);
  CHECK(rig.peers.size() == 0);
}

TEST_CASE("the inner server is tried once") {
  Rig rig;
  FakeSession session;
  CHECK(rig.policy->next_target(session.view()));
  session.record.attempts = 1;
  CHECK_FALSE(rig.policy->next_target(session.view()));
}

TEST_CASE("a source address without a free port gives way to the next one") {
  auto facts = Rig::default_facts();
  // Nobody here has the first one, which the kernel answers like an address whose ports are used up.
  facts.inner_sources = {at("203.0.113.77:0"), at("127.0.0.3:0")};
  Rig rig(facts);
  FakeSession session;
  const auto fd = tcp_socket();
  REQUIRE(rig.policy->prepare(session.view(), fd.get(), {}));
  CHECK(session.kept.inner.host() == "127.0.0.3");
}

TEST_CASE("an inner connection over a Unix socket is known by the name that the kernel gave it") {
  auto facts = Rig::default_facts();
  facts.inner = *sys::Endpoint::parse("unix:/run/server.sock");
  facts.inner_sources = {};
  Rig rig(facts);
  FakeSession session;
  const sys::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(rig.policy->prepare(session.view(), fd.get(), {}));
  const std::string name = session.kept.inner.text();
  CHECK(name.starts_with("unix:@"));
  CHECK(name.size() == 11);
  CHECK(find_by_text(rig.peers, name));
}

TEST_CASE("a process that takes the table over rebuilds the peer map from it") {
  FakeSession session;
  const auto fd = tcp_socket();
  {
    Rig before;
    (void)before.policy->inspect(session.view(), edge_header() + octets(kHello), false);
    REQUIRE(before.policy->prepare(session.view(), fd.get(), {}));
  }
  Rig after;
  after.policy->relaying(session.view());
  const auto peer = after.peers.find(to_ppv2(session.kept.inner));
  REQUIRE(peer);
  CHECK(from_ppv2(peer->claimed_source) == at("203.0.113.9:51234"));
  CHECK(peer->claim_trusted);
  CHECK(peer->edge() == "fra-1");
  CHECK(peer->unique_id() == kEdgeSession);
  after.policy->relaying(session.view());
  CHECK(after.peers.size() == 1);
  after.policy->ending(session.view());
  CHECK(after.peers.size() == 0);
}

TEST_CASE("the line of a session keeps claim and measurement apart") {
  Rig rig;
  FakeSession session;
  (void)rig.policy->inspect(session.view(), edge_header() + octets(kHello), false);
  const auto fd = tcp_socket();
  REQUIRE(rig.policy->prepare(session.view(), fd.get(), {}));
  session.record.up.moved = 1234;
  end(*rig.policy, session, Reason::finished);
  const auto lines = rig.log.lines();
  REQUIRE(lines.size() == 1);
  const auto& line = lines[0];
  CHECK(line["event"] == "session_closed");
  CHECK(line["claimed"] == "203.0.113.9:51234");
  CHECK(line["measured"] == "198.51.100.7:40112");
  CHECK(line["claim_trusted"] == true);
  CHECK(line["edge"] == "fra-1");
  CHECK(line["edge_session"] == kEdgeSession);
  CHECK(line["inner"] == session.kept.inner.text());
  CHECK(line["listener"] == "main");
  CHECK(line["origin"] == "127.0.0.1:9");
  CHECK(line["bytes_up"] == 1234);
  CHECK(line["reason"] == "finished");
}

TEST_CASE("a session without payload writes no line and is counted once") {
  struct Case {
    Octets bytes;
    unsigned counter;
  };
  for (const auto& [bytes, counter] :
       {Case{{}, kSilent}, Case{edge_header(), kHeaderOnly}, Case{local_header(), kLocal}}) {
    Rig rig;
    FakeSession session;
    if (!bytes.empty()) (void)rig.policy->inspect(session.view(), bytes, false);
    end(*rig.policy, session, Reason::silent);
    for (const unsigned each : {kSilent, kHeaderOnly, kLocal}) {
      CHECK(rig.counters.value(each) == (each == counter ? 1 : 0));
    }
    CHECK(rig.log.lines().empty());
  }
}

TEST_CASE("what a trusted edge sends for itself is silent even with payload") {
  Rig rig;
  FakeSession session;
  (void)rig.policy->inspect(session.view(), local_header() + octets(kHello), false);
  session.record.up.moved = 100;
  end(*rig.policy, session, Reason::finished);
  CHECK(rig.counters.value(kLocal) == 1);
  CHECK(rig.log.lines().empty());
}

TEST_CASE("an edge that names itself in a LOCAL header has a client without an address, and its session is logged") {
  Rig rig;
  FakeSession session;
  (void)rig.policy->inspect(session.view(), addressless_header() + octets(kHello), false);
  session.record.up.moved = 100;
  end(*rig.policy, session, Reason::finished);
  CHECK(rig.counters.value(kLocal) == 0);
  const auto lines = rig.log.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["claimed"] == "");
  CHECK(lines[0]["measured"] == "198.51.100.7:40112");
  CHECK(lines[0]["edge"] == "fra-1");
  CHECK(lines[0]["edge_session"] == kEdgeSession);
}

TEST_CASE("nobody else can hide a session from the log with a LOCAL header") {
  Rig rig;
  FakeSession session("192.0.2.66:5555");
  (void)rig.policy->inspect(session.view(), local_header() + octets(kHello), false);
  session.record.up.moved = 100;
  end(*rig.policy, session, Reason::finished);
  CHECK(rig.log.lines().size() == 1);
}

TEST_CASE("a refused header is one line with the reason and the byte at fault") {
  Rig rig;
  FakeSession session;
  auto header = edge_header();
  header[12] = std::byte{0x31};
  const auto opening = rig.policy->inspect(session.view(), header, false);
  CHECK(opening.verdict == Opening::Verdict::refuse);
  end(*rig.policy, session, opening.reason);
  CHECK(rig.counters.value(refusal(ppv2::Reason::bad_version)) == 1);
  CHECK(rig.counters.value(opened(Opened::refused, ppv2::Version::v2, true)) == 1);
  const auto lines = rig.log.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["reason"] == "header_invalid");
  CHECK(lines[0]["header_error"] == "bad_version");
  CHECK(lines[0]["header_offset"] == 12);
}

TEST_CASE("an inner server that refuses is a warning even before any payload") {
  auto facts = Rig::default_facts();
  facts.doors[0].wait_for_client = false;
  Rig rig(facts);
  FakeSession session;
  (void)rig.policy->inspect(session.view(), edge_header(), false);
  end(*rig.policy, session, Reason::connect_refused);
  const auto lines = rig.log.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["level"] == "warning");
  CHECK(lines[0]["reason"] == "connect_refused");
}

TEST_CASE("a trusted edge without a header is counted as soon as it is seen, and once") {
  Rig rig;
  FakeSession session;
  for (int look = 0; look < 2; ++look) {
    CHECK(rig.policy->inspect(session.view(), octets(kHello), false).verdict == Opening::Verdict::proceed);
  }
  CHECK(rig.counters.value(kTrustedWithoutHeader) == 1);
  CHECK(rig.counters.value(opened(Opened::none, ppv2::Version::none, true)) == 1);
}

TEST_CASE("outcomes are counted by version and by trust") {
  Rig rig;
  FakeSession edge;
  FakeSession stranger("192.0.2.66:5555");
  (void)rig.policy->inspect(edge.view(), edge_header() + octets(kHello), false);
  (void)rig.policy->inspect(stranger.view(), v1_header() + octets(kHello), false);
  CHECK(rig.counters.value(opened(Opened::header, ppv2::Version::v2, true)) == 1);
  CHECK(rig.counters.value(opened(Opened::header, ppv2::Version::v1, false)) == 1);
}

TEST_CASE("edges can be added and removed while sessions go on") {
  Rig rig;
  auto facts = Rig::default_facts();
  facts.doors[0].trusted_edges = {*sys::Cidr::parse("192.0.2.0/24")};
  rig.policy->replace(std::make_shared<const GatewayFacts>(facts));
  FakeSession session("192.0.2.66:5555");
  (void)rig.policy->inspect(session.view(), edge_header() + octets(kHello), false);
  CHECK(session.kept.claim_trusted != 0);
}

TEST_CASE("an identifier that cannot be printed is shown in hex") {
  CHECK(printable("abc-1") == "abc-1");
  CHECK(printable(std::string_view("\x00\xff", 2)) == "00ff");
}

TEST_CASE("a scanner's refused headers have a budget of lines, and what is held back is counted and said") {
  constexpr unsigned kKnocks = 1000;
  Rig rig;
  const auto knock = [&] {
    FakeSession session;
    const auto opening = rig.policy->inspect(session.view(), octets("PROXY TCP9 \r\n"), false);
    REQUIRE(opening.verdict == Opening::Verdict::refuse);
    end(*rig.policy, session, opening.reason);
  };
  for (unsigned i = 0; i < kKnocks; ++i) knock();
  rig.now_ms += 1000;
  knock();
  CHECK(rig.counters.value(refusal(ppv2::Reason::v1_family)) == kKnocks + 1);
  const auto held_back = rig.counters.value(kLinesHeldBack);
  CHECK(held_back == kKnocks - 100);
  const auto lines = rig.log.lines();
  REQUIRE(lines.size() == 102);
  CHECK(lines[100]["event"] == "lines_held_back");
  CHECK(lines[100]["count"] == held_back);
  CHECK(lines[101]["event"] == "session_closed");
}
