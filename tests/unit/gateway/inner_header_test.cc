#include "gateway/inner_header.h"

#include <doctest/doctest.h>
#include <ppv2/decoder.h>

#include "sessions.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;

namespace {

struct Written {
  explicit Written(InnerHeader form, FakeSession& session) : bytes(relay::kMaxHeader) {
    bytes.resize(write_inner_header(form, session.view(), bytes));
    decoded = ppv2::decode(bytes);
  }
  Octets bytes;
  ppv2::Decoded decoded;
};

FakeSession opened_by(std::string_view client, const Octets& bytes) {
  Rig rig;
  FakeSession session(client);
  (void)rig.policy->inspect(session.view(), bytes + octets(kHello), false);
  return session;
}

constexpr std::string_view kEdge = "198.51.100.7:40112";
constexpr std::string_view kStranger = "192.0.2.66:5555";

}  // namespace

TEST_CASE("a server that reads v2 gets the claimed client of a trusted edge, and the measured edge in a field") {
  auto session = opened_by(kEdge, edge_header());
  const Written written(InnerHeader::v2, session);
  REQUIRE(written.decoded.outcome == ppv2::Outcome::header);
  CHECK(written.decoded.header_length == written.bytes.size());
  const auto& claim = written.decoded.claim;
  CHECK(from_ppv2(claim.source) == at("203.0.113.9:51234"));
  CHECK(from_ppv2(claim.destination) == at("192.0.2.80:443"));
  CHECK(claim.tlvs.unique_id() == session.record.id.text());
  const auto fields = ppv2::RavelinFields::of(claim.tlvs);
  REQUIRE(fields.measured);
  CHECK(from_ppv2(*fields.measured) == at(kEdge));
  REQUIRE(fields.claimed);
  CHECK(from_ppv2(*fields.claimed) == at("203.0.113.9:51234"));
  CHECK(fields.claim_trusted);
  CHECK(fields.edge == "fra-1");
  CHECK(fields.edge_session == kEdgeSession);
}

TEST_CASE("a server that reads v2 gets the measured address of a stranger, and the claim only as a field") {
  auto session = opened_by(kStranger, edge_header());
  const Written written(InnerHeader::v2, session);
  REQUIRE(written.decoded.outcome == ppv2::Outcome::header);
  CHECK(from_ppv2(written.decoded.claim.source) == at(kStranger));
  CHECK(from_ppv2(written.decoded.claim.destination) == at("192.0.2.10:8443"));
  const auto fields = ppv2::RavelinFields::of(written.decoded.claim.tlvs);
  REQUIRE(fields.claimed);
  CHECK(from_ppv2(*fields.claimed) == at("203.0.113.9:51234"));
  CHECK_FALSE(fields.claim_trusted);
}

TEST_CASE("without a claim the header has no field for one") {
  auto session = opened_by(kEdge, {});
  const Written written(InnerHeader::v2, session);
  const auto& tlvs = written.decoded.claim.tlvs;
  CHECK(from_ppv2(written.decoded.claim.source) == at(kEdge));
  CHECK_FALSE(tlvs.find(ppv2::kClaimedTlv));
  CHECK_FALSE(tlvs.find(ppv2::kClaimTrustedTlv));
  CHECK_FALSE(tlvs.find(ppv2::kEdgeNameTlv));
  CHECK(tlvs.find(ppv2::kMeasuredTlv));
}

TEST_CASE("a trusted edge that speaks for itself goes on doing so") {
  auto session = opened_by(kEdge, local_header());
  const Written written(InnerHeader::v2, session);
  REQUIRE(written.decoded.outcome == ppv2::Outcome::header);
  CHECK(written.decoded.claim.command == ppv2::Command::local);
}

TEST_CASE("a server that reads v1 gets one line with the effective address") {
  auto session = opened_by(kEdge, edge_header());
  const Written written(InnerHeader::v1, session);
  const std::string_view line(reinterpret_cast<const char*>(written.bytes.data()), written.bytes.size());
  CHECK(line == "PROXY TCP4 203.0.113.9 192.0.2.80 51234 443\r\n");
}

TEST_CASE("a server that finds its peer itself gets no header") {
  auto session = opened_by(kEdge, edge_header());
  CHECK(Written(InnerHeader::none, session).bytes.empty());
}
