#include "relay/limiter.h"

#include <doctest/doctest.h>

using namespace ravelin::relay;
using ravelin::sys::SocketAddress;

namespace {

SocketAddress ipv4(std::uint8_t last, std::uint16_t port = 1000) {
  return SocketAddress::ipv4({192, 0, 2, last}, port);
}

// One /64 for each `network`.
SocketAddress ipv6(std::uint32_t network, std::uint8_t host = 1) {
  std::array<std::uint8_t, 16> bytes{0x20, 0x01, 0x0d, 0xb8};
  for (std::size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::uint8_t>(network >> (24 - 8 * i));
  bytes[15] = host;
  return SocketAddress::ipv6(bytes, 1000);
}

}  // namespace

TEST_CASE("a listener takes as many sessions as it may have, and one more when one has ended") {
  Limiter limiter({.sessions = {.most = 2, .action = AtLimit::close}}, 1);
  CHECK(limiter.admit(ipv4(1), 1).limit == Limit::none);
  CHECK(limiter.admit(ipv4(2), 1).limit == Limit::none);
  const auto refused = limiter.admit(ipv4(3), 1);
  CHECK(refused.limit == Limit::listener_sessions);
  CHECK(refused.action == AtLimit::close);
  limiter.ended(ipv4(1), 0);
  CHECK(limiter.admit(ipv4(3), 1).limit == Limit::none);
}

TEST_CASE("a listener lets in a burst, and then so many a second") {
  Limiter limiter({.rate = {.a_second = 10, .burst = 3}}, 1);
  for (int i = 0; i < 3; ++i) CHECK(limiter.admit(ipv4(1), 1000).limit == Limit::none);
  CHECK(limiter.admit(ipv4(1), 1000).limit == Limit::listener_rate);
  CHECK(limiter.admit(ipv4(1), 1099).limit == Limit::listener_rate);
  CHECK(limiter.admit(ipv4(1), 1100).limit == Limit::none);
  CHECK(limiter.admit(ipv4(1), 1100).limit == Limit::listener_rate);
}

TEST_CASE("a rate that leaves connections in the backlog says for how long") {
  Limiter limiter({.rate = {.a_second = 10, .burst = 1, .action = AtLimit::leave_in_backlog}}, 1);
  CHECK_FALSE(limiter.hold(1000));
  CHECK(limiter.admit(ipv4(1), 1000).limit == Limit::none);
  REQUIRE(limiter.hold(1000));
  CHECK(limiter.hold(1000)->for_ms == 100);
  CHECK_FALSE(limiter.hold(1100));
}

TEST_CASE("a full listener that leaves connections in the backlog holds until a session ends") {
  Limiter limiter({.sessions = {.most = 1, .action = AtLimit::leave_in_backlog}}, 1);
  CHECK(limiter.admit(ipv4(1), 1).limit == Limit::none);
  REQUIRE(limiter.hold(1));
  CHECK_FALSE(limiter.hold(1)->for_ms);
  limiter.ended(ipv4(1), 0);
  CHECK_FALSE(limiter.hold(1));
}

TEST_CASE("one source at its limit does not keep another one out") {
  Limiter limiter({.source = {.sessions = {.most = 1}}}, 1);
  const auto first = limiter.admit(ipv4(1), 1);
  CHECK(first.limit == Limit::none);
  CHECK(limiter.admit(ipv4(1, 2000), 1).limit == Limit::source_sessions);
  CHECK(limiter.admit(ipv4(2), 1).limit == Limit::none);
  limiter.ended(ipv4(1), first.source);
  CHECK(limiter.admit(ipv4(1), 1).limit == Limit::none);
}

TEST_CASE("the addresses of one IPv6 subscriber are one source") {
  Limiter limiter({.source = {.sessions = {.most = 1}}}, 1);
  CHECK(limiter.admit(ipv6(7, 1), 1).limit == Limit::none);
  CHECK(limiter.admit(ipv6(7, 2), 1).limit == Limit::source_sessions);
  CHECK(limiter.admit(ipv6(8, 1), 1).limit == Limit::none);
}

TEST_CASE("a source is as wide as its prefix says") {
  Limiter limiter({.source = {.sessions = {.most = 1}, .ipv4_prefix = 31}}, 1);
  CHECK(limiter.admit(ipv4(2), 1).limit == Limit::none);
  CHECK(limiter.admit(ipv4(3), 1).limit == Limit::source_sessions);
  CHECK(limiter.admit(ipv4(4), 1).limit == Limit::none);
}

TEST_CASE("what a source is refused does not count against the listener's rate") {
  Limiter limiter({.rate = {.a_second = 1, .burst = 2}, .source = {.rate = {.a_second = 1}}}, 1);
  CHECK(limiter.admit(ipv4(1), 1000).limit == Limit::none);
  for (int i = 0; i < 10; ++i) CHECK(limiter.admit(ipv4(1), 1000).limit == Limit::source_rate);
  CHECK(limiter.admit(ipv4(2), 1000).limit == Limit::none);
}

TEST_CASE("a flood of IPv6 networks costs no more places than the table has, and forgets none that has sessions") {
  Limiter limiter({.source = {.sessions = {.most = 1}, .table = 100}}, 1);
  const auto kept = limiter.admit(ipv6(0), 1);
  REQUIRE(kept.limit == Limit::none);
  for (std::uint32_t network = 1; network < 100'000; ++network) {
    const auto admitted = limiter.admit(ipv6(network), 1);
    REQUIRE(admitted.limit == Limit::none);
    REQUIRE_FALSE(admitted.shared);
    limiter.ended(ipv6(network), admitted.source);
  }
  CHECK(limiter.sources() == 100);
  CHECK(limiter.sessions() == 1);
  CHECK(limiter.admit(ipv6(0), 1).limit == Limit::source_sessions);
}

TEST_CASE("sources that find no place share one limit, and get places when others have gone") {
  Limiter limiter({.source = {.sessions = {.most = 1}, .table = 2}}, 1);
  const auto first = limiter.admit(ipv4(1), 1);
  CHECK(limiter.admit(ipv4(2), 1).limit == Limit::none);
  const auto shared = limiter.admit(ipv4(3), 1);
  CHECK(shared.limit == Limit::none);
  CHECK(shared.shared);
  CHECK(limiter.admit(ipv4(4), 1).limit == Limit::source_sessions);
  limiter.ended(ipv4(1), first.source);
  const auto fourth = limiter.admit(ipv4(4), 1);
  CHECK(fourth.limit == Limit::none);
  CHECK_FALSE(fourth.shared);
}

TEST_CASE("sessions taken over from another process count as before, also beyond a limit") {
  Limiter limiter({.sessions = {.most = 2}, .source = {.sessions = {.most = 1}}}, 1);
  const std::uint32_t source = limiter.adopt(ipv4(1));
  CHECK(limiter.adopt(ipv4(1)) == source);
  CHECK(limiter.adopt(ipv4(2)) != source);
  CHECK(limiter.admit(ipv4(3), 1).limit == Limit::listener_sessions);
  limiter.ended(ipv4(1), source);
  limiter.ended(ipv4(2), limiter.adopt(ipv4(2)));
  CHECK(limiter.sessions() == 2);
}

TEST_CASE("sessions without an address have no source") {
  Limiter limiter({.source = {.sessions = {.most = 1}}}, 1);
  const SocketAddress unix_peer{.family = AF_UNIX};
  for (int i = 0; i < 5; ++i) CHECK(limiter.admit(unix_peer, 1).limit == Limit::none);
}
