#include "gateway/schema.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "config/config.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace std::chrono_literals;

namespace {

auto from_flags(std::vector<std::string> arguments) {
  return config::load_quietly(std::span<const std::string>(arguments), settings_schema(), program());
}

std::string error_of(std::string_view yaml) {
  const auto loaded = config::from_text(yaml, settings_schema(), "gateway.yaml");
  return loaded ? "" : config::text_of(loaded.error());
}

}  // namespace

TEST_CASE("two flags are a whole gateway") {
  const auto loaded = from_flags({"--listen", ":8443", "--inner", "127.0.0.1:9443"});
  const auto* settings = std::get_if<config::Loaded<Settings>>(&loaded);
  REQUIRE(settings != nullptr);
  REQUIRE(settings->settings.listeners.size() == 1);
  CHECK(settings->settings.listeners[0].address.text() == ":8443");
  CHECK(settings->settings.listeners[0].policy == ppv2::Policy::sniff);
  CHECK(settings->settings.listeners[0].untrusted == ppv2::Untrusted::mark);
  CHECK(settings->settings.inner.text() == "127.0.0.1:9443");
}

TEST_CASE("the flags for policy and trusted edges are for every listener") {
  const auto loaded = from_flags({"--listen", ":1", "--listen", ":2", "--inner", "unix:/run/s", "--policy", "require",
                                  "--trusted-edge", "203.0.113.0/24", "--trusted-edge", "2001:db8::/32"});
  const auto* settings = std::get_if<config::Loaded<Settings>>(&loaded);
  REQUIRE(settings != nullptr);
  REQUIRE(settings->settings.listeners.size() == 2);
  for (const auto& listener : settings->settings.listeners) {
    CHECK(listener.policy == ppv2::Policy::require);
    CHECK(listener.trusted_edges.size() == 2);
  }
}

TEST_CASE("a file says everything that flags say, and more") {
  const auto loaded = config::from_text(R"(
listeners:
  - address: ":8443"
    name: main
    policy: sniff
    trusted_edges: [203.0.113.0/24]
    untrusted: reject
  - address: "127.0.0.1:8025"
    policy: sniff
    wait_for_client: false
    silence: 1s
    timeouts: {first_byte: 10s}
inner: 127.0.0.1:9443
inner_sources: [127.0.0.1, 127.0.0.2]
inner_header: v2
)",
                                        settings_schema());
  REQUIRE(loaded);
  const Settings& settings = loaded->settings;
  CHECK(settings.listeners[0].untrusted == ppv2::Untrusted::reject);
  CHECK(settings.listeners[1].silence == 1s);
  CHECK(settings.listeners[1].timeouts.first_byte == 10s);
  CHECK_FALSE(settings.listeners[1].wait_for_client);
  CHECK(settings.inner_sources.size() == 2);
  CHECK(settings.inner_header == InnerHeader::v2);
}

TEST_CASE("every mistake in a file is named with its place") {
  const std::string errors = error_of(R"(listeners:
  - address: ":8443"
    policy: maybe
    trusted_edges: [somewhere]
inner: 127.0.0.1:9443
inner_sources: [0.0.0.0]
inner_header: v3
)");
  CHECK(errors.find("gateway.yaml:3:13: listeners[0].policy: 'maybe' is not known") != std::string::npos);
  CHECK(errors.find("gateway.yaml:4:21:") != std::string::npos);
  CHECK(errors.find("gateway.yaml:6:17:") != std::string::npos);
  CHECK(errors.find("gateway.yaml:7:15:") != std::string::npos);
}

TEST_CASE("a policy that needs trusted edges and has none says what would happen") {
  const std::string errors = error_of("listeners: [{address: ':8443', policy: require}]\ninner: 127.0.0.1:9443\n");
  CHECK(errors.find("every connection would be refused") != std::string::npos);
}

TEST_CASE("an inner address that cannot be one is refused at its place") {
  CHECK(
      error_of("listeners: [{address: ':8443'}]\ninner: server.example:443\n").starts_with("gateway.yaml:2:8: inner:"));
}

TEST_CASE("the reference page in the tree is the one that the program prints") {
  std::ifstream file(RAVELIN_SOURCE "/docs/reference/gateway.md");
  std::ostringstream page;
  page << file.rdbuf();
  const bool is_current = page.str() == config::reference_markdown(settings_schema(), program());
  CHECK_MESSAGE(is_current, "run: gateway --reference markdown > docs/reference/gateway.md");
}
