#include "gateway/settings.h"

#include <doctest/doctest.h>

#include "headers.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;
using namespace std::chrono_literals;

namespace {

FrontSettings settings_for(std::string_view inner) {
  FrontSettings settings{.inner = sys::Endpoint::parse(inner).value()};
  settings.listeners.emplace_back().address = *sys::Endpoint::parse("127.0.0.1:0");
  return settings;
}

std::string first_misfit(const FrontSettings& settings) {
  const auto misfits = misfits_of(settings);
  return misfits.empty() ? "" : misfits[0].setting;
}

relay::ListenerOptions engine_listener(const ListenerSettings& listener) {
  FrontSettings settings = settings_for("127.0.0.1:9");
  settings.listeners = {listener};
  relay::EngineSettings engine;
  add_to_engine(engine, settings);
  return engine.listeners.at(0);
}

}  // namespace

TEST_CASE("policy require without a trusted edge is refused, since it would refuse everybody") {
  auto settings = settings_for("127.0.0.1:9");
  CHECK(first_misfit(settings).empty());
  settings.listeners[0].policy = ppv2::Policy::require;
  CHECK(first_misfit(settings) == "listeners[0].trusted_edges");
  settings.listeners[0].trusted_edges = {*sys::Cidr::parse("203.0.113.0/24")};
  CHECK(first_misfit(settings).empty());
}

TEST_CASE("the inner address is one of this machine, or says where its connections come from") {
  CHECK(first_misfit(settings_for("[::1]:9")).empty());
  CHECK(first_misfit(settings_for("unix:/run/server.sock")).empty());
  CHECK(first_misfit(settings_for("server.example:9")) == "inner");
  CHECK(first_misfit(settings_for("127.0.0.1:0")) == "inner");
  CHECK(first_misfit(settings_for(":9")) == "inner");
  auto elsewhere = settings_for("192.0.2.1:9");
  CHECK(first_misfit(elsewhere) == "inner");
  elsewhere.inner_sources = {*sys::SourceAddress::parse("192.0.2.2")};
  CHECK(first_misfit(elsewhere).empty());
}

TEST_CASE("a gateway is not its own server") {
  auto settings = settings_for("127.0.0.1:9");
  settings.listeners[0].address = *sys::Endpoint::parse(":9");
  CHECK(first_misfit(settings) == "inner");
  settings.listeners[0].address = *sys::Endpoint::parse("127.0.0.1:10");
  CHECK(first_misfit(settings).empty());
  settings = settings_for("unix:/run/server.sock");
  settings.listeners.push_back(settings.listeners[0]);
  settings.listeners[1].address = settings.inner;
  CHECK(first_misfit(settings) == "inner");
}

TEST_CASE("source addresses fit the inner address") {
  auto settings = settings_for("127.0.0.1:9");
  settings.inner_sources = {*sys::SourceAddress::parse("127.0.0.2"), *sys::SourceAddress::parse("::1")};
  CHECK(first_misfit(settings) == "inner_sources[1]");
  settings = settings_for("unix:/run/server.sock");
  settings.inner_sources = {*sys::SourceAddress::parse("127.0.0.2")};
  CHECK(first_misfit(settings) == "inner_sources");
  CHECK_FALSE(sys::SourceAddress::parse("0.0.0.0"));
  CHECK_FALSE(sys::SourceAddress::parse("localhost"));
}

TEST_CASE("inner connections come from the inner address's own host unless told otherwise") {
  CHECK(facts_of(settings_for("127.0.0.1:9")).inner_sources == std::vector{at("127.0.0.1:0")});
  CHECK(facts_of(settings_for("[::1]:9")).inner_sources == std::vector{at("[::1]:0")});
  auto settings = settings_for("127.0.0.1:9");
  settings.inner_sources = {*sys::SourceAddress::parse("127.0.0.2"), *sys::SourceAddress::parse("127.0.0.3")};
  CHECK(facts_of(settings).inner_sources == std::vector{at("127.0.0.2:0"), at("127.0.0.3:0")});
}

TEST_CASE("a header is looked for even where the server speaks first, for as long as silence says") {
  ListenerSettings listener;
  listener.address = *sys::Endpoint::parse(":8443");
  listener.timeouts.first_byte = 30s;
  listener.silence = 2s;
  CHECK(engine_listener(listener).timeouts.first_byte == 30s);
  listener.wait_for_client = false;
  CHECK(engine_listener(listener).timeouts.first_byte == 2s);
  CHECK(engine_listener(listener).wait_for_client);
  CHECK(engine_listener(listener).name == ":8443");
  listener.policy = ppv2::Policy::require;
  CHECK(engine_listener(listener).timeouts.first_byte == 30s);
}
