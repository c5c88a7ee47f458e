#include "config/document.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/unit/config/config_file.h"
#include "tests/unit/config/sample.h"

using namespace sample;

namespace {

std::string repeat(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

TEST_CASE("YAML that is none is told with its place and what to do") {
  CHECK(
      errors_of("listeners:\n  - address: [::]:443\n") ==
      "edge.yaml:2:18: not valid YAML: end of map not found, expected the next key in line with those above, or quotes "
      "around a value like \"[::]:443\"\n");
  CHECK(errors_of("a: b: c\n") ==
        "edge.yaml:1:5: not valid YAML: illegal map value, expected one 'key: value' a line, and quotes around a value "
        "that "
        "holds ': '\n");
  CHECK(
      errors_of("limits:\n    low: 1\n  high: 2\n").starts_with("edge.yaml:3:3: not valid YAML: end of map not found"));
  CHECK(errors_of("edge_name: @edge\n") ==
        "edge.yaml:1:12: not valid YAML: unknown token, expected quotes around a value that starts with @, ` or %\n");
  CHECK(errors_of("ports: [1, 2}\n") ==
        "edge.yaml:1:13: not valid YAML: illegal flow end, expected brackets that match\n");
  CHECK(errors_of("edge_name: \"\\q\"\n") ==
        "edge.yaml:1:15: not valid YAML: unknown escape character: q, expected key: value\n");
}

TEST_CASE("a tab in the indentation is called a tab") {
  CHECK(errors_of("limits:\n\tlow: 1\n") == "edge.yaml:2:5: a tab in the indentation, expected spaces\n");
}

TEST_CASE("quotes that are never closed do not swallow the rest of the file") {
  CHECK(errors_of("edge_name: 'a\nheader: false\n") ==
        "edge.yaml:1:12: quoted text without an end, expected a closing quote\n");
  CHECK(errors_of("edge_name: \"a\\\"\n") == "edge.yaml:1:12: quoted text without an end, expected a closing quote\n");
  CHECK(errors_of("edge_name: 'it''s\n") == "edge.yaml:1:12: quoted text without an end, expected a closing quote\n");
  CHECK(errors_of("\xef\xbb\xbf"
                  "edge_name: 'a\n") == "edge.yaml:1:12: quoted text without an end, expected a closing quote\n");
  CHECK(errors_of(with_listener("edge_name: 'it''s'\n")) == "");
  CHECK(errors_of(with_listener("edge_name: \"a \\\" b\"\n")) == "");
  CHECK(errors_of("\xef\xbb\xbf" + with_listener("edge_name: 'x'\n")) == "");
  CHECK(errors_of("listeners:\r\n  - address: ':443'\r\nedge_name: 'x'\r\n") == "");
}

TEST_CASE("a key that stands twice is refused, with the line of the first") {
  CHECK(errors_of(with_listener("header: true\nheader: false\n")) ==
        "edge.yaml:3:1: key 'header' stands here again, expected it once, as on line 2\n");
  CHECK(
      errors_of("listeners:\n  - {address: ':1', address: ':2'}\nbogus: 1\n") ==
      "edge.yaml:2:21: key 'address' stands here again, expected it once, as on line 2\n"
      "edge.yaml:3:1: unknown key 'bogus' at the top level, expected one of listeners, pools, limits, admin, trusted, "
      "ports, edge_name, header, log\n");
}

TEST_CASE("anchors, aliases, merge keys and tags are refused, and nothing is said twice about them") {
  CHECK(errors_of("listeners: &all\n  - address: ':1'\npools: *all\n") ==
        "edge.yaml:1:12: a YAML anchor '&all', expected the value alone\n"
        "edge.yaml:3:8: a YAML alias, expected the value itself\n");
  CHECK(errors_of(with_listener("limits: &l {low: 1}\nadmin:\n  <<: *l\n")) ==
        "edge.yaml:2:9: a YAML anchor '&l', expected the value alone\n"
        "edge.yaml:4:3: unknown key '<<' in admin, expected one of address, metrics\n"
        "edge.yaml:4:7: a YAML alias, expected the value itself\n");
  CHECK(errors_of(with_listener("header: !!bool true\n")) ==
        "edge.yaml:2:9: a YAML tag 'tag:yaml.org,2002:bool', expected the value alone\n");
}

TEST_CASE("a bomb of aliases costs one error each and no memory") {
  std::string bomb = "a: &a [x]\n";
  for (char name = 'b'; name <= 'z'; ++name) {
    const std::string last = std::string("*") + static_cast<char>(name - 1);
    bomb += std::string(1, name) + ": &" + name + " [" + repeat(last + " ,", 9) + last + " ]\n";
  }
  CHECK(errors_of(bomb).find("edge.yaml:1:4: a YAML anchor '&a', expected the value alone\n") != std::string::npos);
}

TEST_CASE("a key that is no name is refused") {
  CHECK(errors_of("? [a]\n: 1\n").ends_with("edge.yaml:1:3: a list as a key, expected a name\n"));
  CHECK(errors_of(with_listener("~: 1\n")).starts_with("edge.yaml:1:1: unknown key '' at the top level, expected"));
}

TEST_CASE("a file holds one document") {
  CHECK(errors_of(with_listener("---\nheader: false\n")) ==
        "edge.yaml:2:1: a second YAML document starts, expected one in a file\n");
  CHECK(errors_of("---\n" + with_listener("...\n")) == "");
}

TEST_CASE("bytes that are no text are refused where they stand") {
  using namespace std::string_literals;
  CHECK(errors_of(with_listener("edge_name: a\0b\n"s)) == "edge.yaml:2:13: byte 0x00, expected printable UTF-8 text\n");
  CHECK(errors_of(with_listener("edge_name: a\x04\nbogus: 1\n")) ==
        "edge.yaml:2:13: byte 0x04, expected printable UTF-8 text\n");
  CHECK(errors_of("\xff\xfe"
                  "a\0:\0"s) == "edge.yaml:1:1: byte 0xff, expected printable UTF-8 text\n");
  CHECK(errors_of("edge_name: \xc3\x28\n") == "edge.yaml:1:12: byte 0xc3, expected printable UTF-8 text\n");
  CHECK(errors_of("edge_name: \xed\xa0\x80\n") == "edge.yaml:1:12: byte 0xed, expected printable UTF-8 text\n");
  CHECK(errors_of("edge_name: \xc2\x9b\n") == "edge.yaml:1:12: byte 0xc2, expected printable UTF-8 text\n");
  CHECK(errors_of(with_listener("edge_name: köln-€-🏰\n")) == "");
}

TEST_CASE("deep nesting ends in an error, not in the stack") {
  CHECK(errors_of("a: " + repeat("[", 100'000)).find("nested too deep, expected at most 32 levels") !=
        std::string::npos);
  CHECK(errors_of("a: " + repeat("{a: ", 100'000)).find("nested too deep, expected at most 32 levels") !=
        std::string::npos);
  CHECK(errors_of(repeat("- ", 100'000)) == "edge.yaml:1:65: nested too deep, expected at most 32 levels\n");
  std::string yaml;
  for (int i = 0; i < 1000; ++i) yaml += repeat(" ", i) + "a:\n";
  CHECK(errors_of(yaml) == "edge.yaml:33:33: nested too deep, expected at most 32 levels\n");
  CHECK(!errors_of(repeat("? ", 100'000)).empty());
  CHECK(!errors_of(repeat("[", 100'000) + repeat("]", 100'000)).empty());
}

TEST_CASE("too many values and a value too long are refused") {
  CHECK(errors_of("ports: [" + repeat("1,", 200'000) + "1]\n").find("too many values, expected at most 100000") !=
        std::string::npos);
  CHECK(errors_of("edge_name: " + repeat("x", 5000) + "\n") ==
        "edge.yaml:1:12: a value of 5000 bytes, expected at most 4096\n");
}

TEST_CASE("what cannot be read is told with the system's reason") {
  const auto error = [](const std::string& file) {
    const auto loaded = config::reload({.file = file}, schema());
    return loaded ? "" : config::text_of(loaded.error());
  };
  CHECK(error("/nowhere/edge.yaml") == "/nowhere/edge.yaml: cannot open: No such file or directory\n");
  CHECK(error("/tmp") == "/tmp: is a directory, expected a YAML file\n");
  CHECK(error("/dev/zero") == "/dev/zero: is too large, expected at most 1MiB\n");
  CHECK(error("/dev/null") ==
        "/dev/null:1:1: no 'listeners', expected a list of sections, or the flag --listen ADDR\n");
  CHECK(error("/proc/self/mem").starts_with("/proc/self/mem: cannot read: "));
  const ConfigFile large(repeat("# a comment of thirty-two bytes\n", 10 * 32 * 1024));
  CHECK(error(large.path) == large.path + ": is too large, expected at most 1MiB\n");
}

TEST_CASE("a file without a right to read it is told so") {
  if (::geteuid() == 0) return;  // root may read everything
  const ConfigFile secret("header: true\n");
  REQUIRE(::chmod(secret.path.c_str(), 0) == 0);
  const auto loaded = config::reload({.file = secret.path}, schema());
  REQUIRE(!loaded);
  CHECK(config::text_of(loaded.error()) == secret.path + ": cannot open: Permission denied\n");
}
