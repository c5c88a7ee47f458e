#include "config/print.h"

#include <doctest/doctest.h>

#include "tests/unit/config/sample.h"

using namespace sample;

namespace {

config::Loaded<Settings> loaded_from(const std::string& yaml, std::vector<config::FlagValue> flags = {}) {
  config::Loaded<Settings> loaded{.command_line = {.file = "edge.yaml", .flags = std::move(flags)}};
  const auto root = schema();
  const auto errors = config::read_text(yaml, loaded.command_line, root, &loaded.settings, loaded.sources);
  REQUIRE(config::text_of(errors) == "");
  return loaded;
}

}  // namespace

TEST_CASE("--print-config shows every setting, and whether the file, a flag or nobody set it") {
  const auto loaded =
      loaded_from("listeners:\n  - address: :443\n    idle: 5m\nlimits:\n  low: 3\ntrusted:\n  - 10.0.0.0/8\n",
                  {{"--sessions", "9"}, {"--trusted", "::1"}});
  CHECK(config::print(loaded, schema()) == R"(listeners:
  - address: ":443"  # edge.yaml:2
    name: ""         # default
    policy: sniff    # default
    idle: 5m         # edge.yaml:3
pools: []            # default
limits:
  sessions: 9        # --sessions
  low: 3             # edge.yaml:5
  high: 200          # default
  buffer: 64KiB      # default
  connect: 10s       # default
# admin: not set
trusted:
  - 10.0.0.0/8       # edge.yaml:7
  - "::1/128"        # --trusted
ports:
  - 80               # default
  - 443              # default
edge_name: ""        # default
header: true         # default
log:
  format: json       # default
  level: info        # default
)");
}

TEST_CASE("what --print-config prints reads back as the same settings") {
  for (const std::string& yaml :
       {with_listener(""),
        with_listener(
            "pools: [{name: a, origins: [{address: 'h:1', weight: 3}, {address: 'unix:/x y'}]}]\nadmin: {}\n"),
        with_listener("edge_name: \"null\"\nports: []\ntrusted: [::1]\nlog: {level: error}\n")}) {
    CAPTURE(yaml);
    const auto first = loaded_from(yaml);
    const auto second = loaded_from(config::print(first, schema()));
    CHECK(config::diff(first.settings, second.settings, schema()).empty());
    CHECK(second.settings.listeners.size() == 1);
  }
}

TEST_CASE("any text survives being printed and read") {
  for (const char* text : {"",     "~",  "null", "true",  "yes",    "12",   "-",  "- a", "a: b", "a #b", "#",
                           "it's", "\"", "\\",   "\\n",   "*a",     "&a",   "!t", "%",   "@",    "`",    "{",
                           "[",    "]",  ",",    " lead", "trail ", "köln", "a:", "? b", "<<",   "---"}) {
    CAPTURE(text);
    auto loaded = loaded_from(with_listener(""));
    loaded.settings.edge_name = text;
    CHECK(loaded_from(config::print(loaded, schema())).settings.edge_name == text);
  }
}

TEST_CASE("a diff tells which settings were changed, added and taken away") {
  const auto before = loaded_from(with_listener("limits: {low: 1}\ntrusted: [10.0.0.0/8]\nadmin: {address: ':9'}\n"));
  const auto after =
      loaded_from("listeners: [{address: ':443', idle: 1s}]\nlimits: {low: 2}\ntrusted: [10.0.0.0/8, ::1]\n");
  using config::Change;
  CHECK(config::diff(before.settings, after.settings, schema()) ==
        std::vector<Change>{{"listeners[0].idle", std::nullopt, "1s"},
                            {"limits.low", "1", "2"},
                            {"trusted[1]", std::nullopt, "::1/128"},
                            {"admin.address", ":9", std::nullopt},
                            {"admin.metrics", "true", std::nullopt}});
}

TEST_CASE("the reference describes every setting with type, limits, default and flag") {
  const config::Program program{.name = "sample", .version = "1", .summary = "shows what a schema can do"};
  const auto markdown = config::reference_markdown(schema(), program);
  for (const char* row :
       {"| `listeners[]` | a list of sections | required |  | Listening sockets. |\n",
        "| `pools[].origins[].weight` | a whole number, 1 to 100 | default 1 |  | Its share. |\n",
        "| `limits.sessions` | a whole number, 1 to 1000000 | default 10000 | `--sessions N` | Most sessions at once. "
        "|\n",
        "| `listeners[].policy` | one of sniff, require, reject | default sniff | `--policy sniff\\|require\\|reject` "
        "| What is "
        "done about headers. |\n",
        "| `ports` | a list, each a whole number, 1 to 65535 | default 80, 443 |  | Ports that matter. |\n",
        "| `admin` | a section | not set |  | The admin interface. |\n"}) {
    CAPTURE(row);
    CHECK(markdown.find(row) != std::string::npos);
  }
  const auto man = config::reference_man(schema(), program);
  CHECK(man.starts_with(".TH sample 5 \"\" \"sample 1\"\n"));
  CHECK(man.find(".TP\n.B limits.connect\nHow long connecting may take.\n"
                 "Takes a duration such as 250ms, 10s or 1h30m, at most 1h.\nIf left out: default 10s.\n") !=
        std::string::npos);
}
