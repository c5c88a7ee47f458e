#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/config/sample.h"

using namespace sample;
using namespace std::chrono_literals;

TEST_CASE("a file with every kind of setting becomes a struct") {
  const auto loaded = config::from_text(R"(
listeners:
  - address: :443
    policy: require
    idle: 1h30m
  - {address: "[2001:db8::1]:8443", name: second}
pools:
  - name: main
    origins:
      - address: origin.example:443
        weight: 7
      - address: unix:/run/origin.sock
limits:
  sessions: 5000
  buffer: 128KiB
  connect: 250ms
admin:
  metrics: false
trusted: [203.0.113.0/24, "2001:db8::/32"]
ports:
  - 8080
edge_name: "null"
header: false
log: {format: text, level: debug}
)",
                                        schema());
  REQUIRE(loaded);
  const Settings& settings = loaded->settings;
  REQUIRE(settings.listeners.size() == 2);
  CHECK(settings.listeners[0].address == sys::Endpoint{.port = 443});
  CHECK(settings.listeners[0].policy == Policy::require);
  CHECK(settings.listeners[0].idle == 90min);
  CHECK(settings.listeners[1].address == sys::Endpoint{.host = "2001:db8::1", .port = 8443});
  CHECK(settings.listeners[1].name == "second");
  CHECK(!settings.listeners[1].idle);
  REQUIRE(settings.pools.size() == 1);
  REQUIRE(settings.pools[0].origins.size() == 2);
  CHECK(settings.pools[0].origins[0].weight == 7);
  CHECK(settings.pools[0].origins[1].address.path == "/run/origin.sock");
  CHECK(settings.limits.sessions == 5000);
  CHECK(settings.limits.low == 100);
  CHECK(settings.limits.buffer.bytes == 131072);
  CHECK(settings.limits.connect == 250ms);
  REQUIRE(settings.admin);
  CHECK(!settings.admin->metrics);
  CHECK(settings.trusted == std::vector{*sys::Cidr::parse("203.0.113.0/24"), *sys::Cidr::parse("2001:db8::/32")});
  CHECK(settings.ports == std::vector<std::uint16_t>{8080});
  CHECK(settings.edge_name == "null");
  CHECK(!settings.header);
  CHECK(settings.log.format == sys::LogFormat::text);
  CHECK(settings.log.level == sys::LogLevel::debug);
}

TEST_CASE("what a file leaves out has its default, and an empty section is a section of defaults") {
  const auto loaded = config::from_text(with_listener("limits:\n  # sessions: 5\nadmin:\n"), schema());
  REQUIRE(loaded);
  CHECK(loaded->settings.limits.sessions == 10'000);
  CHECK(loaded->settings.ports == std::vector<std::uint16_t>{80, 443});
  REQUIRE(loaded->settings.admin);
  CHECK(loaded->settings.admin->address.path == "/run/sample.sock");
}

TEST_CASE("all errors of a file are told in one go, in its order, each with its place") {
  CHECK(errors_of(R"(listeners:
  - listen_addr: :443
    policy: maybe
    idle: 10
limits:
  sessions: many
  low: -1
sesions: 5
)") == R"(edge.yaml:2:5: unknown key 'listen_addr' in listeners[0], did you mean 'address'?
edge.yaml:2:5: listeners[0] has no 'address', expected an address: HOST:PORT, [V6]:PORT, :PORT or unix:PATH
edge.yaml:3:13: listeners[0].policy: 'maybe' is not known, expected one of sniff, require, reject
edge.yaml:4:11: listeners[0].idle: '10' is not a duration, expected a number with ms, s, m, h or d, such as 250ms or 1h30m
edge.yaml:6:13: limits.sessions: 'many' is not a whole number, expected digits
edge.yaml:7:8: limits.low: -1 is out of range, expected 0 to 4294967295
edge.yaml:8:1: unknown key 'sesions' at the top level, expected one of listeners, pools, limits, admin, trusted, ports, edge_name, header, log
)");
}

TEST_CASE("an unknown key near a known one comes with that one") {
  CHECK(errors_of(with_listener("limts: {}\n")) ==
        "edge.yaml:2:1: unknown key 'limts' at the top level, did you mean 'limits'?\n");
  CHECK(errors_of(with_listener("limits: {max_session: 5}\n")) ==
        "edge.yaml:2:10: unknown key 'max_session' in limits, did you mean 'sessions'?\n");
  CHECK(errors_of(with_listener("log: {xyz: 5}\n")) ==
        "edge.yaml:2:7: unknown key 'xyz' in log, expected one of format, level\n");
}

TEST_CASE("each type says what it expected") {
  const auto error = [](const std::string& line) { return errors_of(with_listener(line + "\n")); };
  CHECK(error("header: yes") == "edge.yaml:2:9: header: 'yes' is neither true nor false, expected one of them\n");
  CHECK(error("trusted: [10.0.0.0/33]") ==
        "edge.yaml:2:11: trusted[0]: '10.0.0.0/33' is not an address range, expected one such as 203.0.113.0/24 or "
        "2001:db8::/32\n");
  CHECK(
      error("limits: {buffer: 64K}") ==
      "edge.yaml:2:18: limits.buffer: '64K' is not a size, expected a number with B, KiB, MiB or GiB, such as 64KiB\n");
  CHECK(error("admin: {address: nowhere}") ==
        "edge.yaml:2:18: admin.address: 'nowhere' is not an address, expected HOST:PORT, [V6]:PORT, :PORT or "
        "unix:PATH\n");
  CHECK(error("edge_name: \"a\\nb\"") ==
        "edge.yaml:2:12: edge_name: 'a\\x0ab' is not plain text, expected one line of printable UTF-8\n");
  CHECK(error("header:") == "edge.yaml:2:1: header has no value, expected true or false\n");
  CHECK(error("header: ~") == "edge.yaml:2:1: header has no value, expected true or false\n");
}

TEST_CASE("a value where a list or section belongs is refused, and the other way round") {
  const auto error = [](const std::string& line) { return errors_of(with_listener(line + "\n")); };
  CHECK(error("limits: 5") == "edge.yaml:2:9: limits is a single value, expected a section of keys\n");
  CHECK(error("limits: [5]") == "edge.yaml:2:9: limits is a list, expected a section of keys\n");
  CHECK(error("pools: 5") == "edge.yaml:2:8: pools is a single value, expected a list of sections\n");
  CHECK(error("pools: {}") == "edge.yaml:2:8: pools is a section, expected a list of sections\n");
  CHECK(error("pools: [5]") == "edge.yaml:2:9: pools[0] is a single value, expected a section of keys\n");
  CHECK(error("pools:") == "edge.yaml:2:1: pools has no value, expected a list of sections\n");
  CHECK(error("trusted: 10.0.0.1") ==
        "edge.yaml:2:10: trusted is a single value, expected a list, each element an address range such as "
        "203.0.113.0/24\n");
  CHECK(error("trusted: [[]]") ==
        "edge.yaml:2:11: trusted[0] is a list, expected an address range such as 203.0.113.0/24\n");
  CHECK(error("ports:\n  -\n") == "edge.yaml:3:3: ports[0] has no value, expected a whole number, 1 to 65535\n");
  CHECK(errors_of("- listeners\n") == "edge.yaml:1:1: the file is a list, expected a section of keys\n");
  CHECK(errors_of("listeners\n") == "edge.yaml:1:1: the file is a single value, expected a section of keys\n");
}

TEST_CASE("numbers, durations and sizes outside their limits are told the limits") {
  const auto error = [](const std::string& line) { return errors_of(with_listener(line + "\n")); };
  CHECK(error("limits: {sessions: 0}") ==
        "edge.yaml:2:20: limits.sessions: 0 is out of range, expected 1 to 1000000\n");
  CHECK(error("limits: {sessions: 99999999999999999999999999}") ==
        "edge.yaml:2:20: limits.sessions: 99999999999999999999999999 is out of range, expected 1 to 1000000\n");
  CHECK(error("limits: {buffer: 1KiB}") ==
        "edge.yaml:2:18: limits.buffer: 1KiB is out of range, expected at least 4KiB\n");
  CHECK(error("limits: {connect: 2h}") == "edge.yaml:2:19: limits.connect: 2h is out of range, expected at most 1h\n");
  CHECK(error("ports: [65536]") == "edge.yaml:2:9: ports[0]: 65536 is out of range, expected 1 to 65535\n");
  CHECK(error("ports: [0x10]") == "edge.yaml:2:9: ports[0]: '0x10' is not a whole number, expected digits\n");
  CHECK(error("ports: [1.5, +1, '', '-']") ==
        "edge.yaml:2:9: ports[0]: '1.5' is not a whole number, expected digits\n"
        "edge.yaml:2:14: ports[1]: '+1' is not a whole number, expected digits\n"
        "edge.yaml:2:18: ports[2]: '' is not a whole number, expected digits\n"
        "edge.yaml:2:22: ports[3]: '-' is not a whole number, expected digits\n");
}

TEST_CASE("a required setting that is missing is named where it belongs, with the flag that would give it") {
  CHECK(errors_of("") == "edge.yaml:1:1: no 'listeners', expected a list of sections, or the flag --listen ADDR\n");
  CHECK(errors_of("# nothing\n---\n") ==
        "edge.yaml:1:1: no 'listeners', expected a list of sections, or the flag --listen ADDR\n");
  CHECK(errors_of("listeners: []\n") == "edge.yaml:1:12: listeners is empty, expected at least one element\n");
  CHECK(errors_of(with_listener("pools:\n  - name: a\n")) ==
        "edge.yaml:3:5: pools[0] has no 'origins', expected a list of sections, or the flag --origin HOST:PORT\n");
}

TEST_CASE("a rule over several settings reports at the setting, or at the section if that was left out") {
  CHECK(errors_of(with_listener("limits:\n  high: 300\n  low: 301\n")) ==
        "edge.yaml:4:8: limits.low: above 'high', expected at most that\n");
  CHECK(errors_of(with_listener("limits:\n  high: 30\n")) ==
        "edge.yaml:3:3: limits.low: above 'high', expected at most that\n");
  CHECK(errors_of("listeners:\n  - address: :1\n  - address: :1\n") ==
        "edge.yaml:3:14: listeners[1].address: the same as the first one's, expected another\n");
}

TEST_CASE("a rule is not asked about values that are wrong in themselves") {
  CHECK(errors_of(with_listener("limits:\n  high: x\n  low: 301\n")) ==
        "edge.yaml:3:9: limits.high: 'x' is not a whole number, expected digits\n");
}

TEST_CASE("a flood of errors is cut and counted") {
  std::string yaml = with_listener("");
  for (int i = 0; i < 250; ++i) yaml += "zz" + std::to_string(i) + ": 1\n";
  const std::string errors = errors_of(yaml);
  CHECK(std::count(errors.begin(), errors.end(), '\n') == 101);
  CHECK(errors.ends_with("and 150 more errors\n"));
}
