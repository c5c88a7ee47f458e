#include "admin/metrics.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "admin/utf8.h"
#include "running_server.h"

using namespace ravelin::admin;

namespace {

constexpr double kBounds[] = {0.005, 0.1, 2.5};
constexpr FamilySpec kSessions{.name = "edge_sessions_total",
                               .help = "Sessions accepted.",
                               .type = MetricType::counter,
                               .labels = {"listener", "origin"}};
constexpr FamilySpec kOpen{.name = "edge_open_sessions", .help = "A \\ and\na new line.", .type = MetricType::gauge};
constexpr FamilySpec kDelay{.name = "edge_connect_seconds",
                            .help = "Time to connect.",
                            .type = MetricType::histogram,
                            .labels = {"origin"},
                            .bounds = kBounds};

Metrics sample_metrics() {
  Metrics metrics;
  metrics.add(kSessions, [](Family& family) {
    family.value({"main", "10.0.0.1:443"}, 18446744073709551615U);
    family.value({"a\"b\\c\nd", "\xff\xc3\xa4"}, 0U);
  });
  metrics.add(kOpen, [](Family& family) { family.value({}, 0.25); });
  metrics.add(kDelay, [](Family& family) {
    constexpr std::uint64_t kCounts[] = {1, 0, 2, 3};
    family.histogram({"o"}, kCounts, 12.5);
  });
  return metrics;
}

// Every line is a comment of a known family or a sample of the family named last.
void check_strictly(const std::string& text) {
  const std::regex comment(R"(# (HELP|TYPE) ([a-z_]+) .+)");
  const std::regex sample(
      R"re(([a-z_]+)(\{[a-z_]+="([^"\\\n]|\\["\\n])*"(,[a-z_]+="([^"\\\n]|\\["\\n])*")*\})? (NaN|[+-]Inf|-?[0-9.e+-]+))re");
  std::istringstream lines(text);
  std::string family;
  std::smatch parts;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (std::regex_match(line, parts, comment)) {
      family = parts[2];
    } else {
      REQUIRE(std::regex_match(line, parts, sample));
      CHECK(parts[1].str().starts_with(family));
    }
  }
  CHECK(text.ends_with('\n'));
}

}  // namespace

TEST_CASE("families are written in the Prometheus text format") {
  const std::string text = sample_metrics().text();
  check_strictly(text);
  CHECK(text ==
        "# HELP edge_sessions_total Sessions accepted.\n"
        "# TYPE edge_sessions_total counter\n"
        "edge_sessions_total{listener=\"main\",origin=\"10.0.0.1:443\"} 18446744073709551615\n"
        "edge_sessions_total{listener=\"a\\\"b\\\\c\\nd\",origin=\"\xEF\xBF\xBD\xc3\xa4\"} 0\n"
        "# HELP edge_open_sessions A \\\\ and\\na new line.\n"
        "# TYPE edge_open_sessions gauge\n"
        "edge_open_sessions 0.25\n"
        "# HELP edge_connect_seconds Time to connect.\n"
        "# TYPE edge_connect_seconds histogram\n"
        "edge_connect_seconds_bucket{origin=\"o\",le=\"0.005\"} 1\n"
        "edge_connect_seconds_bucket{origin=\"o\",le=\"0.1\"} 1\n"
        "edge_connect_seconds_bucket{origin=\"o\",le=\"2.5\"} 3\n"
        "edge_connect_seconds_bucket{origin=\"o\",le=\"+Inf\"} 6\n"
        "edge_connect_seconds_sum{origin=\"o\"} 12.5\n"
        "edge_connect_seconds_count{origin=\"o\"} 6\n");
}

TEST_CASE("promtool finds nothing to say about our metrics") {
  const ravelin::admin::test::TemporaryDirectory directory;
  std::ofstream(directory.file("metrics")) << sample_metrics().text();
  const std::string command =
      fmt::format("promtool check metrics <{} >{} 2>&1", directory.file("metrics"), directory.file("said"));
  const int status = std::system(command.c_str());
  std::stringstream said;
  said << std::ifstream(directory.file("said")).rdbuf();
  CHECK(said.str() == "");
  CHECK_MESSAGE(status == 0, "promtool is in Debian's package prometheus; deploy/install-packages test installs it");
}

TEST_CASE("special numbers have their names") {
  Metrics metrics;
  metrics.add(kOpen, [](Family& family) {
    for (const double number : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(), 1e300, -1.5}) {
      family.value({}, number);
    }
  });
  const std::string text = metrics.text();
  CHECK(text.find("s +Inf\nedge_open_sessions -Inf\nedge_open_sessions NaN\nedge_open_sessions "
                  "1e+300\nedge_open_sessions -1.5\n") != std::string::npos);
}

TEST_CASE("a family that breaks a rule is found in the table") {
  const auto problem = [](FamilySpec spec) { return problem_of(spec).value_or(""); };
  CHECK(problem(kSessions).empty());
  CHECK(problem(kOpen).empty());
  CHECK(problem(kDelay).empty());
  CHECK(problem({.name = "9lives", .help = "x"}) == "'9lives' is not a name");
  CHECK(problem({.name = "", .help = "x"}) == "'' is not a name");
  CHECK(problem({.name = "a", .help = ""}) == "a has no help");
  CHECK(problem({.name = "a", .help = "x", .type = MetricType::counter}) ==
        "a: counters, and they alone, end in _total");
  CHECK(problem({.name = "a_total", .help = "x"}) == "a_total: counters, and they alone, end in _total");
  CHECK(problem({.name = "a_count", .help = "x"}) == "a_count ends as a part of a histogram does");
  CHECK(problem({.name = "a", .help = "x", .labels = {"le"}}) == "a: 'le' is not a label");
  CHECK(problem({.name = "a", .help = "x", .labels = {"__b"}}) == "a: '__b' is not a label");
  CHECK(problem({.name = "a", .help = "x", .labels = {"b", "b"}}) == "a: label b stands twice");
  CHECK(problem({.name = "a", .help = "x", .labels = {"", "b"}}) == "a: a label stands behind an empty one");
  CHECK(problem({.name = "a", .help = "x", .bounds = kBounds}) == "a: histograms, and they alone, have bounds");
  CHECK(problem({.name = "a", .help = "x", .type = MetricType::histogram}) ==
        "a: histograms, and they alone, have bounds");
  constexpr double kFlat[] = {1, 1};
  CHECK(problem({.name = "a", .help = "x", .type = MetricType::histogram, .bounds = kFlat}) ==
        "a: the bounds do not rise");
}

TEST_CASE("bytes that are not UTF-8 are replaced one by one") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(valid_utf8("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") == "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(valid_utf8("a\xff") == "a" + mark);
  CHECK(valid_utf8("\xc3") == mark);
  CHECK(valid_utf8("\xc0\xaf") == mark + mark);                        // overlong
  CHECK(valid_utf8("\xed\xa0\x80") == mark + mark + mark);             // a surrogate
  CHECK(valid_utf8("\xf4\x90\x80\x80") == mark + mark + mark + mark);  // beyond U+10FFFF
  CHECK(valid_utf8("\xe2\x82x") == mark + mark + "x");
}
