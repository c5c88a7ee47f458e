#include "config/command_line.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/config/config_file.h"
#include "tests/unit/config/sample.h"

using namespace sample;

namespace {

const config::Program kProgram{.name = "sample",
                               .version = "1.2.3",
                               .summary = "Shows what a schema can do",
                               .example = "sample --listen :443 --origin origin.example:443"};

using Outcome = std::variant<config::Loaded<Settings>, config::Answer>;

Outcome run(const std::vector<std::string>& arguments) {
  return config::load_quietly(arguments, schema(), kProgram);
}

config::Answer answer_to(const std::vector<std::string>& arguments) {
  auto outcome = run(arguments);
  const auto* answer = std::get_if<config::Answer>(&outcome);
  REQUIRE(answer != nullptr);
  return *answer;
}

Settings settings_of(const std::vector<std::string>& arguments) {
  auto outcome = run(arguments);
  if (const auto* answer = std::get_if<config::Answer>(&outcome)) FAIL(answer->err);
  return std::get<config::Loaded<Settings>>(outcome).settings;
}

}  // namespace

TEST_CASE("flags alone are enough, no file is needed") {
  const Settings settings = settings_of({"--listen", ":443", "--origin", "origin.example:443"});
  REQUIRE(settings.listeners.size() == 1);
  CHECK(settings.listeners[0].address.port == 443);
  REQUIRE(settings.pools.size() == 1);
  CHECK(settings.pools[0].name == "default");
  REQUIRE(settings.pools[0].origins.size() == 1);
  CHECK(settings.pools[0].origins[0].address.host == "origin.example");
}

TEST_CASE("a repeated flag appends, and takes one value each time") {
  const Settings settings = settings_of({"--listen", ":1", "--listen=[::1]:2", "--origin", "a:1", "--origin", "b:2",
                                         "--trusted", "10.0.0.0/8", "--trusted", "192.0.2.1"});
  REQUIRE(settings.listeners.size() == 2);
  CHECK(settings.listeners[1].address.host == "::1");
  REQUIRE(settings.pools.size() == 1);
  CHECK(settings.pools[0].origins.size() == 2);
  CHECK(settings.trusted.size() == 2);
  CHECK(answer_to({"--listen", ":1", ":2"}).err ==
        "sample: unexpected argument ':2', expected only flags\nTry 'sample --help'.\n");
}

TEST_CASE("a flag's value is taken as it is") {
  for (const char* name : {"[a,b]", "{a}", "%%", "'a'", "--x", "-1", "a=b", "köln"}) {
    INFO("name ", std::string(name));
    CHECK(settings_of({"--listen", ":1", "--edge-name", name}).edge_name == name);
  }
}

TEST_CASE("a flag for every element reaches all of them, wherever it stands") {
  const Settings settings = settings_of({"--policy", "require", "--listen", ":1", "--listen", ":2"});
  CHECK(settings.listeners[0].policy == Policy::require);
  CHECK(settings.listeners[1].policy == Policy::require);
}

TEST_CASE("flags go over the file: they set what it sets and append to its lists") {
  const ConfigFile file(
      "listeners: [{address: ':1', policy: reject}]\nlimits: {sessions: 5, low: 7}\ntrusted: [10.0.0.0/8]\n");
  const Settings settings = settings_of({"--config", file.path, "--listen", ":2", "--sessions", "6", "--trusted",
                                         "192.0.2.1", "--policy", "require", "--header=false", "--admin", "unix:@x"});
  CHECK(settings.listeners.size() == 2);
  CHECK(settings.listeners[0].policy == Policy::require);
  CHECK(settings.limits.sessions == 6);
  CHECK(settings.limits.low == 7);
  CHECK(settings.trusted.size() == 2);
  CHECK(!settings.header);
  REQUIRE(settings.admin);
  CHECK(settings.admin->address.path == "@x");
}

TEST_CASE("a wrong value of a flag is a usage error that names the flag") {
  const auto answer = answer_to({"--listen", "nowhere", "--sessions", "0"});
  CHECK(answer.exit == sys::Exit::usage);
  CHECK(answer.err ==
        "sample: --listen: 'nowhere' is not an address, expected HOST:PORT, [V6]:PORT, :PORT or unix:PATH\n"
        "sample: --sessions: 0 is out of range, expected 1 to 1000000\n"
        "Try 'sample --help'.\n");
  CHECK(answer_to({"--listen", ":1", "--listen", ":1"}).err ==
        "sample: --listen: the same as the first one's, expected another\nTry 'sample --help'.\n");
  CHECK(answer_to({"--listen", ":1", "--edge-name", "a\x1b[2J"}).err ==
        "sample: --edge-name: 'a\\x1b[2J' is not plain text, expected one line of printable UTF-8\nTry 'sample "
        "--help'.\n");
}

TEST_CASE("without a file and the flags that it takes, the message says what to give") {
  const auto answer = answer_to({});
  CHECK(answer.exit == sys::Exit::usage);
  CHECK(answer.out.empty());
  CHECK(answer.err == "sample: --listen ADDR is missing, expected it or --config FILE\nTry 'sample --help'.\n");
}

TEST_CASE("a wrong command line is told what was meant") {
  const auto error = [](const std::vector<std::string>& arguments) {
    const auto answer = answer_to(arguments);
    CHECK(answer.exit == sys::Exit::usage);
    return answer.err.substr(0, answer.err.find('\n'));
  };
  CHECK(error({"--lsten", ":443"}) == "sample: unknown flag '--lsten', did you mean '--listen'?");
  CHECK(error({"--lsten=:443"}) == "sample: unknown flag '--lsten=:443', did you mean '--listen'?");
  CHECK(error({"--zzz"}) == "sample: unknown flag '--zzz'");
  CHECK(error({"start"}) == "sample: unexpected argument 'start', expected only flags");
  CHECK(error({"--listen"}) == "sample: --listen: 1 required ADDR missing");
  CHECK(error({"--sessions", "1", "--sessions", "2"}) == "sample: --sessions is given twice, expected once");
  CHECK(error({"--config", "a", "--config", "b"}) == "sample: --config is given twice, expected one file");
  CHECK(error({"--config", ""}) == "sample: --config names no file, expected --config FILE");
  CHECK(error({"--sessions", "-1", "--listen", ":1"}) ==
        "sample: --sessions: -1 is out of range, expected 1 to 1000000");
  CHECK(error({"--reference", "html"}) == "sample: --reference: 'html' is not known, expected markdown or man");
  CHECK(error({"--check=maybe"}) == "sample: Could not convert: --check = maybe");
}

TEST_CASE("--check says ok and exits 0, or tells all errors on stderr and exits 78") {
  const ConfigFile file(with_listener(""));
  auto answer = answer_to({"--config", file.path, "--check"});
  CHECK(answer.exit == sys::Exit::ok);
  CHECK(answer.out == file.path + ": ok\n");
  CHECK(answer.err.empty());
  file.write("header: 5\nbogus: 1\n");
  answer = answer_to({"--check", "--config", file.path});
  CHECK(answer.exit == sys::Exit::bad_config);
  CHECK(answer.out.empty());
  CHECK(std::count(answer.err.begin(), answer.err.end(), '\n') == 3);
  CHECK(answer_to({"--check", "--listen", ":1"}).out == "command line: ok\n");
  CHECK(answer_to({"--check", "--config", "/nowhere"}).exit == sys::Exit::bad_config);
}

TEST_CASE("--version and --help come from the program and its schema") {
  CHECK(answer_to({"--version"}).out == "sample 1.2.3\n");
  const auto help = answer_to({"--help"}).out;
  INFO(help);
  for (const char* part :
       {"Shows what a schema can do", "--listen ADDR", "where clients connect; may be given several times",
        "--origin HOST:PORT", "--policy sniff|require|reject", "most sessions at once (default 10000)",
        "write a header (default); --header=false turns it off", "--config FILE", "--check", "--print-config",
        "sample --listen :443 --origin origin.example:443"}) {
    INFO("part ", std::string(part));
    CHECK(help.find(part) != std::string::npos);
  }
}

TEST_CASE("a reload reads the same file again under the same flags") {
  const ConfigFile file(with_listener("limits: {low: 1}\n"));
  auto outcome = run({"--config", file.path, "--sessions", "77"});
  const auto& first = std::get<config::Loaded<Settings>>(outcome);
  file.write(with_listener("limits: {low: 2, sessions: 5}\n"));
  const auto second = config::reload(first.command_line, schema());
  REQUIRE(second);
  CHECK(second->settings.limits.sessions == 77);
  CHECK(second->settings.limits.low == 2);
  file.write("listeners: 5\n");
  CHECK(!config::reload(first.command_line, schema()));
}
