#include "relay/recovery.h"

#include "live_session.h"
#include "sys/descriptor.h"

using namespace ravelin;
using namespace ravelin::relay;

namespace {

// As the next process does it. Nothing was looked at here, so nothing may be consumed.
void take_over(LiveSession& session) {
  const Resumption resumption = take_stock(session.record, session.pipes, session.table.buffer(0));
  REQUIRE(resumption.action == Resumption::Action::relay);
  CHECK(resumption.consume_up == 0);
  CHECK(resumption.consume_down == 0);
  // The event that comes for a socket when it is watched anew.
  session.record.up.ending = session.record.down.ending = 1;
}

void move_all(LiveSession& session, Side from) {
  CHECK(session.run(from).state == PumpResult::State::waiting);
}

}  // namespace

TEST_CASE("a session whose client has reset while nobody worked on it loses no byte and ends in the reset") {
  LiveSession session;
  session.client.hear("said and passed on, ");
  move_all(session, Side::client);
  session.client.hear("said and not read");
  reset(session.client.theirs.get());
  session.client.wait_for(POLLHUP);

  SUBCASE("nobody has read the error") {}
  SUBCASE("who worked on it died between reading the error and writing it down") {
    CHECK(sys::get_option<int>(session.record.client_fd, SOL_SOCKET, SO_ERROR) == ECONNRESET);
  }
  take_over(session);
  CHECK(session.record.up.moved == 20);
  CHECK(session.record.client_error == ECONNRESET);
  const PumpResult result = session.run(Side::client);
  CHECK(result.state == PumpResult::State::source_failed);
  CHECK(result.error == ECONNRESET);
  CHECK(session.origin.told(37) == "said and passed on, said and not read");
}

TEST_CASE("a session whose client has reset after its end of stream loses no byte and ends in the reset") {
  LiveSession session;
  session.client.hear("passed on, ");
  move_all(session, Side::client);
  session.client.hear("not read");
  ::shutdown(session.client.theirs.get(), SHUT_WR);
  session.client.wait_for(POLLRDHUP);
  reset(session.client.theirs.get());
  session.client.wait_for(POLLHUP);

  take_over(session);
  CHECK(session.record.up.moved == 11);
  CHECK(session.record.client_error != 0);
  (void)session.run(Side::client);
  CHECK(session.origin.told(19) == "passed on, not read");
}

TEST_CASE("a session whose origin is closed both ways is taken over with the bytes that nobody has read yet") {
  LiveSession session;
  session.record.up.eof = session.record.up.fin_sent = 1;
  session.origin.hear("passed on, ");
  move_all(session, Side::origin);
  session.origin.hear("not read");
  finish_sending(session.record.origin_fd);
  ::shutdown(session.origin.theirs.get(), SHUT_WR);
  session.origin.wait_for(POLLHUP);

  take_over(session);
  CHECK(session.record.origin_error == 0);
  CHECK(session.record.down.moved == 11);
  CHECK(session.run(Side::origin).state == PumpResult::State::finished);
  CHECK(session.client.told(19) == "passed on, not read");
}
