#include "gateway/door.h"

#include <doctest/doctest.h>

#include "headers.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;
using ppv2::Moment;
using ppv2::Policy;
using ppv2::Untrusted;
using relay::Opening;
using relay::Reason;
using Verdict = relay::Opening::Verdict;

namespace {

const auto kEdge = at("198.51.100.7:40112");
const auto kStranger = at("192.0.2.66:5555");

Door door(Policy policy, Untrusted untrusted = Untrusted::mark, bool wait_for_client = true) {
  return {.name = "main",
          .rules = {policy, untrusted},
          .trusted_edges = {*sys::Cidr::parse("198.51.100.0/24")},
          .wait_for_client = wait_for_client};
}

struct Seen {
  Opening opening;
  GatewaySession kept;
};

Seen open(const Door& door, const sys::SocketAddress& peer, const Octets& bytes, Moment moment = Moment::bytes) {
  Seen seen;
  seen.opening = door.open(seen.kept, peer, bytes, moment);
  return seen;
}

}  // namespace

TEST_CASE("each cell of the policy table does what it says") {
  const auto header = edge_header();
  const auto with_header = header + octets(kHello);
  const auto without = octets(kHello);
  const auto skip = static_cast<std::uint32_t>(header.size());
  struct Cell {
    Policy policy;
    Untrusted untrusted;
    bool trusted;
    bool has_header;
    Verdict verdict;
    std::uint32_t skip;
    Reason reason;
    bool claim_trusted;
  };
  using enum Policy;
  const Cell cells[] = {
      {require, Untrusted::mark, true, true, Verdict::proceed, skip, Reason::none, true},
      {require, Untrusted::mark, true, false, Verdict::refuse, 0, Reason::header_missing, false},
      {require, Untrusted::mark, false, true, Verdict::refuse, 0, Reason::header_refused, false},
      {require, Untrusted::mark, false, false, Verdict::refuse, 0, Reason::header_refused, false},
      {sniff, Untrusted::mark, true, true, Verdict::proceed, skip, Reason::none, true},
      {sniff, Untrusted::mark, true, false, Verdict::proceed, 0, Reason::none, false},
      {sniff, Untrusted::mark, false, true, Verdict::proceed, skip, Reason::none, false},
      {sniff, Untrusted::mark, false, false, Verdict::proceed, 0, Reason::none, false},
      {sniff, Untrusted::reject, false, true, Verdict::refuse, 0, Reason::header_refused, false},
      {sniff, Untrusted::reject, false, false, Verdict::proceed, 0, Reason::none, false},
      {sniff, Untrusted::pass, false, true, Verdict::proceed, 0, Reason::none, false},
      {sniff, Untrusted::pass, false, false, Verdict::proceed, 0, Reason::none, false},
      {reject, Untrusted::mark, true, true, Verdict::refuse, 0, Reason::header_refused, false},
      {reject, Untrusted::mark, true, false, Verdict::proceed, 0, Reason::none, false},
      {reject, Untrusted::mark, false, true, Verdict::refuse, 0, Reason::header_refused, false},
      {reject, Untrusted::mark, false, false, Verdict::proceed, 0, Reason::none, false},
  };
  for (const Cell& cell : cells) {
    CAPTURE(static_cast<int>(cell.policy));
    CAPTURE(static_cast<int>(cell.untrusted));
    CAPTURE(cell.trusted);
    CAPTURE(cell.has_header);
    const auto seen = open(door(cell.policy, cell.untrusted), cell.trusted ? kEdge : kStranger,
                           cell.has_header ? with_header : without);
    CHECK(seen.opening.verdict == cell.verdict);
    CHECK(seen.opening.skip == cell.skip);
    CHECK(seen.opening.reason == cell.reason);
    CHECK((seen.kept.claim_trusted != 0) == cell.claim_trusted);
    CHECK(seen.kept.has_claim() == (cell.verdict == Verdict::proceed && cell.skip != 0));
  }
}

TEST_CASE("an untrusted header is taken off and its claim kept, marked as not trusted") {
  const auto seen = open(door(Policy::sniff), kStranger, edge_header() + octets(kHello));
  CHECK(seen.kept.claimed == at("203.0.113.9:51234"));
  CHECK(seen.kept.claim_trusted == 0);
  CHECK(seen.kept.trusted_source == 0);
}

TEST_CASE("the edge's name and its id for the session are kept verbatim") {
  const auto seen = open(door(Policy::sniff), kEdge, edge_header() + octets(kHello));
  CHECK(seen.kept.edge.view() == "fra-1");
  CHECK(seen.kept.edge_session.view() == kEdgeSession);
  CHECK(seen.kept.claimed_destination == at("192.0.2.80:443"));
}

TEST_CASE("a header cut at any byte is waited for, and nothing is skipped before it is whole") {
  for (const auto& header : {edge_header(), v1_header(), local_header()}) {
    for (std::size_t size = 1; size < header.size(); ++size) {
      const auto seen = open(door(Policy::sniff), kEdge, {header.begin(), header.begin() + static_cast<long>(size)});
      REQUIRE(seen.opening.verdict == Verdict::need_more);
      REQUIRE_FALSE(seen.kept.has_claim());
    }
    const auto whole = open(door(Policy::sniff), kEdge, header);
    CHECK(whole.opening.verdict == Verdict::need_more);
    const auto with_payload = open(door(Policy::sniff), kEdge, header + octets("x"));
    CHECK(with_payload.opening.verdict == Verdict::proceed);
    CHECK(with_payload.opening.skip == header.size());
  }
}

TEST_CASE("a header that stays cut is refused at the deadline and when the client leaves") {
  const auto header = edge_header();
  const Octets cut(header.begin(), header.begin() + 20);
  for (const Moment moment : {Moment::timeout, Moment::eof}) {
    const auto seen = open(door(Policy::sniff), kEdge, cut, moment);
    CHECK(seen.opening.verdict == Verdict::refuse);
    CHECK(seen.opening.reason == Reason::header_invalid);
    CHECK(seen.kept.fault == (moment == Moment::timeout ? ppv2::Reason::timed_out : ppv2::Reason::closed));
    CHECK(seen.kept.fault_offset == 20);
  }
}

TEST_CASE("a broken header is refused with the reason and the byte at fault") {
  auto header = edge_header();
  header[12] = std::byte{0x31};
  const auto seen = open(door(Policy::sniff), kEdge, header);
  CHECK(seen.opening.verdict == Verdict::refuse);
  CHECK(seen.opening.reason == Reason::header_invalid);
  CHECK(seen.kept.fault == ppv2::Reason::bad_version);
  CHECK(seen.kept.fault_offset == 12);
  CHECK_FALSE(seen.kept.is_senders_own());
}

TEST_CASE("a LOCAL header with fields claims nothing and is taken off") {
  const auto header = local_header();
  const auto seen = open(door(Policy::require), kEdge, header + octets(kHello));
  CHECK(seen.opening.verdict == Verdict::proceed);
  CHECK(seen.opening.skip == header.size());
  CHECK(seen.kept.is_senders_own());
  CHECK_FALSE(seen.kept.has_claim());
  CHECK(seen.kept.edge_session.view().empty());
}

TEST_CASE("a header with nothing behind it ends without a word") {
  for (const Moment moment : {Moment::timeout, Moment::eof}) {
    const auto seen = open(door(Policy::require), kEdge, edge_header(), moment);
    CHECK(seen.opening.verdict == Verdict::close);
    CHECK(seen.opening.reason == Reason::silent);
    CHECK(seen.kept.payload == 0);
  }
}

TEST_CASE("a client that says nothing ends without a word, whatever the policy") {
  for (const Policy policy : {Policy::sniff, Policy::require, Policy::reject}) {
    const auto seen = open(door(policy), kStranger, {}, Moment::timeout);
    CHECK(seen.opening.verdict == Verdict::close);
    CHECK(seen.opening.reason == Reason::silent);
  }
}

TEST_CASE("where the server speaks first a header is enough to go on") {
  const auto seen = open(door(Policy::sniff, Untrusted::mark, false), kEdge, edge_header());
  CHECK(seen.opening.verdict == Verdict::proceed);
  CHECK(seen.opening.skip == edge_header().size());
  CHECK(seen.kept.payload == 0);
}

TEST_CASE("where the server speaks first a silent client goes on without a header, but not if one is required") {
  CHECK(open(door(Policy::sniff, Untrusted::mark, false), kEdge, {}, Moment::timeout).opening.verdict ==
        Verdict::proceed);
  CHECK(open(door(Policy::reject, Untrusted::mark, false), kEdge, {}, Moment::timeout).opening.verdict ==
        Verdict::proceed);
  CHECK(open(door(Policy::require, Untrusted::mark, false), kEdge, {}, Moment::timeout).opening.verdict ==
        Verdict::close);
}

TEST_CASE("a second header is payload") {
  const auto first = edge_header();
  const auto seen = open(door(Policy::sniff), kEdge, first + edge_header("192.0.2.1:1"));
  CHECK(seen.opening.skip == first.size());
  CHECK(seen.kept.claimed == at("203.0.113.9:51234"));
}

TEST_CASE("an identifier or name that is too long is left out, not cut") {
  const auto seen = open(door(Policy::sniff), kEdge, edge_header("203.0.113.9:1", std::string(65, 'x')) + octets("x"));
  CHECK(seen.opening.verdict == Verdict::proceed);
  CHECK(seen.kept.edge.view().empty());
  CHECK(seen.kept.edge_session.view() == kEdgeSession);
}

TEST_CASE("an edge on a dual-stack socket matches its IPv4 range") {
  std::array<std::uint8_t, 16> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100, 7};
  CHECK(door(Policy::sniff).trusts(sys::SocketAddress::ipv6(mapped, 1)));
}
