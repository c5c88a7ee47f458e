#include "relay/pump.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "relay/session_table.h"
#include "relay/socket.h"

using namespace ravelin;
using namespace ravelin::relay;

namespace {

// Both ends of a TCP connection through loopback; `ours` does not block, as the engine's sockets do not.
struct Connection {
  sys::UniqueFd ours;
  sys::UniqueFd theirs;

  Connection() {
    const auto listener = listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 1);
    REQUIRE(listener);
    sockaddr_storage address{};
    const socklen_t length = sys::SocketAddress::local_of(listener->get())->to(address);
    theirs = sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(theirs.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    pollfd ready{.fd = listener->get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    ours = sys::UniqueFd(::accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    REQUIRE(ours);
  }
  void wait_for(short events) const {
    pollfd ready{.fd = ours.get(), .events = events, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
  }
};

// A session between two such connections, in a table of its own.
struct Rig {
  Connection client;
  Connection origin;
  SessionTable table = std::move(*SessionTable::create({.sessions = 1, .pipes = 4}));
  PipePool pipes{table, 0, 1, 1 << 20};
  Pump pump{pipes, table.buffer(0)};
  SessionRecord& record = table.record(0);

  Rig() {
    record.phase = Phase::relaying;
    record.client_fd = client.ours.get();
    record.origin_fd = origin.ours.get();
    record.client = record.origin_peer = sys::SocketAddress::ipv4({127, 0, 0, 1}, 1);
  }
};

}  // namespace

TEST_CASE("a reset that is met while the first bytes are looked at is not taken for the end of the stream") {
  Rig rig;
  reset(rig.client.theirs.get());
  rig.client.wait_for(POLLHUP);
  constexpr std::string_view kHeader = "header";
  const auto opened = rig.pump.open(flow_from(rig.record, Side::client), std::as_bytes(std::span(kHeader)), 0);
  REQUIRE(opened);
  CHECK_FALSE(*opened);
  CHECK(rig.record.client_error == ECONNRESET);
  const PumpResult result = rig.pump.run(flow_from(rig.record, Side::client));
  CHECK(result.state == PumpResult::State::source_failed);
  CHECK(result.error == ECONNRESET);
  CHECK(rig.record.up.eof == 0);
}
