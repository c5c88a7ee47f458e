#include "redirector/pool.h"

#include <doctest/doctest.h>

#include "redirector/balance.h"

using namespace ravelin::redirector;
using namespace std::chrono_literals;
using ravelin::sys::Duration;
using ravelin::sys::Endpoint;
using ravelin::sys::SocketAddress;

namespace {

PoolSettings settings_for(std::initializer_list<const char*> origins) {
  PoolSettings settings{.name = "main"};
  for (const char* origin : origins) settings.origins.push_back({*Endpoint::parse(origin)});
  return settings;
}

Pool pool_of(std::initializer_list<const char*> origins) {
  return {settings_for(origins), [] { return 0.5; }};  // in the middle: no jitter
}

Pool::Answer answer(std::initializer_list<const char*> addresses) {
  std::vector<SocketAddress> result;
  for (const char* address : addresses) result.push_back(*SocketAddress::parse(address));
  return result;
}

Pool::Answer no_answer() {
  return ravelin::sys::fail(0, "cannot resolve origin.example: temporary failure");
}

std::vector<std::string> addresses(const Pool& pool) {
  std::vector<std::string> result;
  for (const auto& candidate : pool.view()->candidates) result.push_back(candidate->address);
  return result;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("literal addresses and Unix paths need no resolver") {
  const auto pool = pool_of({"192.0.2.1:443", "[2001:db8::1]:443", "unix:/run/origin.sock"});
  CHECK(addresses(pool) == Texts{"192.0.2.1:443", "[2001:db8::1]:443", "unix:/run/origin.sock"});
  for (const auto& origin : pool.origins()) CHECK(!origin.is_name);
  CHECK(pool.trouble(1000).empty());
}

TEST_CASE("a pool starts although its name does not resolve, and says so") {
  auto pool = pool_of({"origin.example:443"});
  CHECK(pool.trouble(1000) == "no origin of pool main is resolved");
  const auto update = pool.resolved(0, no_answer());
  CHECK(update.turn == Pool::Update::Turn::failing);
  CHECK(!update.changed());
  CHECK(pool.resolved(0, answer({"192.0.2.1:443"})).turn == Pool::Update::Turn::recovered);
  CHECK(pool.trouble(1000).empty());
}

TEST_CASE("each address of a name is a candidate") {
  auto pool = pool_of({"origin.example:443"});
  const auto update = pool.resolved(0, answer({"192.0.2.1:443", "[2001:db8::1]:443"}));
  CHECK(update.added == Texts{"192.0.2.1:443", "[2001:db8::1]:443"});
  CHECK(addresses(pool) == update.added);
}

TEST_CASE("the last good answer is kept while the resolver fails") {
  auto pool = pool_of({"origin.example:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443"}));
  const auto view = pool.view();
  CHECK(pool.resolved(0, no_answer()).turn == Pool::Update::Turn::failing);
  CHECK(pool.resolved(0, answer({})).turn == Pool::Update::Turn::none);  // said once
  CHECK(pool.view() == view);
  CHECK(pool.origins()[0].failure == "no addresses");
}

TEST_CASE("an answer in another order changes nothing") {
  auto pool = pool_of({"origin.example:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443", "192.0.2.2:443"}));
  const auto view = pool.view();
  CHECK(!pool.resolved(0, answer({"192.0.2.2:443", "192.0.2.1:443"})).changed());
  CHECK(pool.view() == view);
}

TEST_CASE("a new answer says what came and what went, and those who stay keep their place") {
  auto pool = pool_of({"origin.example:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443", "192.0.2.2:443"}));
  const auto update = pool.resolved(0, answer({"192.0.2.3:443", "192.0.2.2:443"}));
  CHECK(update.added == Texts{"192.0.2.3:443"});
  CHECK(update.removed == Texts{"192.0.2.1:443"});
  CHECK(addresses(pool) == Texts{"192.0.2.2:443", "192.0.2.3:443"});
}

TEST_CASE("a candidate that leaves and comes back while sessions use it has its counts") {
  auto pool = pool_of({"origin.example:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443", "192.0.2.2:443"}));
  const auto used = pool.view()->candidates[0];
  used->sessions = 7;
  (void)pool.resolved(0, answer({"192.0.2.2:443"}));
  (void)pool.resolved(0, answer({"192.0.2.3:443", "192.0.2.2:443"}));
  CHECK(pool.view()->candidates[1]->index != used->index);  // its number is not given away meanwhile
  (void)pool.resolved(0, answer({"192.0.2.1:443"}));
  CHECK(pool.view()->candidates[0] == used);
}

TEST_CASE("numbers of candidates that nobody uses are given out again") {
  auto pool = pool_of({"origin.example:443"});
  for (int round = 0; round < 3000; ++round) {
    const auto low = static_cast<std::uint8_t>(round % 250);
    const auto high = static_cast<std::uint8_t>(round / 250);
    (void)pool.resolved(0, std::vector{SocketAddress::ipv4({10, 0, high, low}, 443)});
    REQUIRE(pool.view()->candidates.size() == 1);
    REQUIRE(pool.view()->candidates[0]->index < 2);
  }
}

TEST_CASE("a name with more addresses than a pool can hold is told so") {
  auto pool = pool_of({"origin.example:443"});
  std::vector<SocketAddress> many;
  for (unsigned i = 0; i < kMostCandidates + 5; ++i) {
    many.push_back(
        SocketAddress::ipv4({10, 1, static_cast<std::uint8_t>(i / 250), static_cast<std::uint8_t>(i % 250)}, 443));
  }
  CHECK(pool.resolved(0, many).left_out == 5);
  CHECK(pool.view()->candidates.size() == kMostCandidates);
}

TEST_CASE("two names of one address are one candidate") {
  auto pool = pool_of({"one.example:443", "192.0.2.1:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443"}));
  CHECK(addresses(pool) == Texts{"192.0.2.1:443"});
}

TEST_CASE("a name is asked for again at the interval, with a fifth of jitter") {
  double random = 0;
  Pool pool(settings_for({"origin.example:443"}), [&random] { return random; });
  CHECK(pool.resolved(0, answer({"192.0.2.1:443"})).ask_again == Duration(24s));
  random = 0.5;
  CHECK(pool.resolved(0, answer({"192.0.2.1:443"})).ask_again == Duration(30s));
}

TEST_CASE("a resolver that fails is asked less and less often, at most at the interval") {
  auto pool = pool_of({"origin.example:443"});
  std::vector<Duration> waits;
  for (int failure = 0; failure < 7; ++failure) waits.push_back(pool.resolved(0, no_answer()).ask_again);
  CHECK(waits == std::vector<Duration>{1s, 2s, 4s, 8s, 16s, 30s, 30s});
  (void)pool.resolved(0, answer({"192.0.2.1:443"}));
  CHECK(pool.resolved(0, no_answer()).ask_again == Duration(1s));
}

TEST_CASE("other settings leave the names that stay with their addresses") {
  auto pool = pool_of({"origin.example:443", "192.0.2.9:443"});
  (void)pool.resolved(0, answer({"192.0.2.1:443"}));
  const auto kept = pool.view()->candidates[0];
  auto settings = settings_for({"unix:/run/origin.sock", "origin.example:443"});
  settings.balancing = Balancing::least_sessions;
  pool.apply(settings);
  CHECK(addresses(pool) == Texts{"unix:/run/origin.sock", "192.0.2.1:443"});
  CHECK(pool.view()->candidates[1] == kept);
  CHECK(pool.view()->balancing == Balancing::least_sessions);
}

TEST_CASE("a pool whose candidates have all failed is not reachable until one is") {
  const auto pool = pool_of({"192.0.2.1:443", "192.0.2.2:443"});
  for (const auto& candidate : pool.view()->candidates) mark_failed(*candidate, 1000);
  CHECK(pool.trouble(1000) == "no origin of pool main is reachable");
  mark_good(*pool.view()->candidates[1]);
  CHECK(pool.trouble(1000).empty());
}

TEST_CASE("a pool whose candidates failed a while ago is ready for a session that finds out") {
  const auto pool = pool_of({"192.0.2.1:443"});
  mark_failed(*pool.view()->candidates[0], 1000);
  CHECK(pool.trouble(1000 + kAvoidFor.count() - 1) == "no origin of pool main is reachable");
  CHECK(pool.trouble(1000 + kAvoidFor.count()).empty());
}
