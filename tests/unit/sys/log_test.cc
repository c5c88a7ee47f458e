#include "sys/log.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "sys/unique_fd.h"

using namespace ravelin::sys;

namespace {

// What `write` logs, read back once the log has been closed.
template <class Write>
std::string logged(LogFormat format, Write write) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  {
    Log log(format, LogLevel::info, in.get());
    write(log);
  }
  in.reset();
  std::string text(65536, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(out.get(), text.data(), text.size()))));
  return text;
}

}  // namespace

TEST_CASE("a line is one JSON object whatever bytes its values hold") {
  const auto text = logged(LogFormat::json, [](Log& log) {
    log.line(LogLevel::warning, "tried").field("who", "a\"b\\c\n\xff\x01").field("count", -3).field("ok", false);
  });
  const auto line = nlohmann::json::parse(text);
  CHECK(line["event"] == "tried");
  CHECK(line["level"] == "warning");
  CHECK(line["count"] == -3);
  CHECK(line["ok"] == false);
  CHECK(line["who"] == "a\"b\\c\n\xEF\xBF\xBD\x01");
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("text for people quotes only what needs it") {
  const auto text =
      logged(LogFormat::text, [](Log& log) { log.line(LogLevel::info, "up").field("a", "x").field("b", "y z"); });
  CHECK(text.find("info up a=x b=\"y z\"\n") != std::string::npos);
}

TEST_CASE("a level that is off writes nothing") {
  CHECK(logged(LogFormat::json, [](Log& log) { log.line(LogLevel::debug, "noise").field("a", 1); }).empty());
}

TEST_CASE("a log that nobody reads gives up lines instead of stopping its writer, and counts them") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  Log log(LogFormat::json, LogLevel::info, in.get());
  const std::string filler(1000, 'x');
  for (int i = 0; i < 20000; ++i) log.line(LogLevel::info, "flood").field("x", filler);
  CHECK(log.dropped() > 10000);
  out.reset();  // lets the writer end
}

TEST_CASE("a reader who is slow behind a non-blocking descriptor gets every line whole") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  REQUIRE(::fcntl(in.get(), F_SETFL, O_NONBLOCK) == 0);
  const std::string filler(1000, 'x');
  std::thread writes([&] {
    {
      Log log(LogFormat::json, LogLevel::info, in.get());
      for (int i = 0; i < 500; ++i) log.line(LogLevel::info, "slow").field("x", filler);
    }
    in.reset();
  });
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(out.get(), buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  writes.join();
  std::size_t whole = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) whole += nlohmann::json::accept(line) ? 1 : 0;
  CHECK(whole == 500);
}

TEST_CASE("a log ends although its reader has stopped reading") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  Log log(LogFormat::json, LogLevel::info, in.get());
  const std::string filler(1000, 'x');
  for (int i = 0; i < 20000; ++i) log.line(LogLevel::info, "flood").field("x", filler);
}
