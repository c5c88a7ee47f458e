#include "redirector/settings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/config.h"
#include "redirector/program.h"

using namespace ravelin;
using redirector::Settings;

namespace {

Settings settings_of(std::string_view yaml) {
  auto loaded = config::from_text(yaml, redirector::settings_schema(), "edge.yaml");
  if (!loaded) FAIL(config::text_of(loaded.error()));
  return loaded->settings;
}

std::string errors_of(std::string_view yaml) {
  auto loaded = config::from_text(yaml, redirector::settings_schema(), "edge.yaml");
  return loaded ? "" : config::text_of(loaded.error());
}

}  // namespace

TEST_CASE("two flags are a whole configuration") {
  const std::vector<std::string> arguments{"--listen", ":443",          "--listen", "[::1]:8443",
                                           "--origin", "a.example:443", "--origin", "unix:/run/b.sock"};
  auto loaded = config::load_quietly(arguments, redirector::settings_schema(), {.name = "redirector"});
  const auto* answer = std::get_if<config::Answer>(&loaded);
  REQUIRE_MESSAGE(answer == nullptr, answer->err);
  const Settings& settings = std::get<config::Loaded<Settings>>(loaded).settings;
  REQUIRE(settings.listeners.size() == 2);
  CHECK(settings.listeners[1].address.text() == "[::1]:8443");
  CHECK(settings.listeners[0].wait_for_client);
  CHECK(settings.listeners[0].proxy_header);
  REQUIRE(settings.pools.size() == 1);
  REQUIRE(settings.pools[0].origins.size() == 2);
  CHECK(settings.pools[0].origins[1].address.is_unix());
  CHECK(redirector::pool_of(settings, settings.listeners[1]) == 0);
}

TEST_CASE("a file says everything about listeners and pools") {
  const auto settings = settings_of(R"(
edge_name: edge-1
listeners:
  - {address: ":443", name: tls, pool: main, timeouts: {connect: 2s, idle: 1h}}
  - {address: ":25", pool: mail, wait_for_client: false, proxy_header: false}
pools:
  - {name: main, balancing: least_sessions, connect_attempts: 2, origins: [{address: "a.example:443"}]}
  - {name: mail, origins: [{address: "192.0.2.7:25"}]}
header: {crc32c: true}
)");
  CHECK(settings.listeners[0].timeouts.connect == std::chrono::seconds(2));
  CHECK(!settings.listeners[1].wait_for_client);
  CHECK(redirector::pool_of(settings, settings.listeners[1]) == 1);
  CHECK(settings.pools[0].balancing == redirector::Balancing::least_sessions);
  CHECK(settings.header.crc32c);
  CHECK(redirector::edge_name_of(settings) == "edge-1");
}

TEST_CASE("a listener of a pool that is not there is refused, with the place in the file") {
  const auto errors =
      errors_of("listeners:\n  - {address: ':1', pool: mian}\npools:\n  - {name: main, origins: [{address: 'a:1'}]}\n");
  CHECK(errors.find("edge.yaml:2:27:") != errors.npos);
  CHECK(errors.find("there is no pool 'mian'") != errors.npos);
}

TEST_CASE("names of listeners and pools are given once") {
  const auto errors = errors_of(R"(
listeners: [{address: ":1", name: x}, {address: ":2", name: x}]
pools: [{origins: [{address: "a:1"}]}, {origins: [{address: "b:1"}]}]
)");
  CHECK(errors.find("'x' is taken") != errors.npos);
  CHECK(errors.find("'default' is taken") != errors.npos);
}

TEST_CASE("an origin names a host and a port, and stands in a pool once") {
  const auto errors = errors_of(R"(
listeners: [{address: ":1"}]
pools: [{origins: [{address: ":1"}, {address: "a:0"}, {address: "b:1"}, {address: "b:1"}]}]
)");
  CHECK(errors.find("':1' names no place to connect to") != errors.npos);
  CHECK(errors.find("'a:0' names no place to connect to") != errors.npos);
  CHECK(errors.find("'b:1' stands in this pool already") != errors.npos);
}

TEST_CASE("an origin that is one of the edge's own listeners is refused, with the place in the file") {
  const auto errors = errors_of(R"(
listeners: [{address: ":443"}, {address: "unix:/run/edge.sock"}]
pools:
  - {name: a, origins: [{address: "192.0.2.1:443"}, {address: "127.0.0.1:443"}]}
  - {name: b, origins: [{address: "[::1]:444"}, {address: "unix:/run/edge.sock"}]}
)");
  CHECK(errors.find("edge.yaml:4:63: pools[0].origins[1].address: '127.0.0.1:443' leads back to this program's own "
                    "listener ':443'") != errors.npos);
  CHECK(errors.find("edge.yaml:5:59: pools[1].origins[1].address: 'unix:/run/edge.sock'") != errors.npos);
  CHECK(std::ranges::count(errors, '\n') == 2);
}

TEST_CASE("an edge's name fits into a header") {
  const auto errors = errors_of("edge_name: " + std::string(65, 'e') +
                                "\nlisteners: [{address: ':1'}]\npools: [{origins: [{address: 'a:1'}]}]\n");
  CHECK(errors.find("65 bytes are too long, expected at most 64") != errors.npos);
}

TEST_CASE("without listeners or origins there is nothing to do") {
  const auto errors = errors_of("edge_name: x\n");
  CHECK(errors.find("listeners") != errors.npos);
  CHECK(errors.find("pools") != errors.npos);
}

TEST_CASE("the reference page in the tree is the one that the program prints") {
  std::ifstream file(RAVELIN_SOURCE "/docs/reference/redirector.md");
  std::ostringstream page;
  page << file.rdbuf();
  const bool is_current =
      page.str() == config::reference_markdown(redirector::settings_schema(), redirector::program());
  CHECK_MESSAGE(is_current, "run: redirector --reference markdown > docs/reference/redirector.md");
}
