#include "relay/pump.h"

#include <string_view>

#include "live_session.h"

using namespace ravelin::relay;

TEST_CASE("a reset that is met while the first bytes are looked at is not taken for the end of the stream") {
  LiveSession session;
  reset(session.client.theirs.get());
  session.client.wait_for(POLLHUP);
  constexpr std::string_view kHeader = "header";
  const auto opened = session.pump.open(flow_from(session.record, Side::client), std::as_bytes(std::span(kHeader)), 0);
  REQUIRE(opened);
  CHECK_FALSE(*opened);
  CHECK(session.record.client_error == ECONNRESET);
  const PumpResult result = session.run(Side::client);
  CHECK(result.state == PumpResult::State::source_failed);
  CHECK(result.error == ECONNRESET);
  CHECK(session.record.up.eof == 0);
}
