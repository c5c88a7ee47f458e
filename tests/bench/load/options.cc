#include "tests/bench/load/options.h"

#include <array>
#include <charconv>
#include <functional>
#include <string_view>

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) stop("'{}' is no number", text);
  return value;
}

std::chrono::milliseconds milliseconds(std::string_view text) {
  return std::chrono::milliseconds(number<std::uint32_t>(text));
}

struct Option {
  std::string_view name;
  std::string_view meaning;
  void (*set)(Options&, std::string_view);
};

constexpr std::array kOptions = {
    Option{"--to", "HOST:PORT to connect to", [](Options& o, std::string_view v) { o.to = v; }},
    Option{"--listen", "HOST:PORT of the origin", [](Options& o, std::string_view v) { o.listen = v; }},
    Option{"--counters", "file that client and origin map", [](Options& o, std::string_view v) { o.counters = v; }},
    Option{"--direction", "up, down or both", [](Options& o, std::string_view v) { o.direction = v; }},
    Option{"--connections", "measured connections",
           [](Options& o, std::string_view v) { o.connections = number<unsigned>(v); }},
    Option{"--held", "idle sessions beside them", [](Options& o, std::string_view v) { o.held = number<unsigned>(v); }},
    Option{"--in-flight", "sessions set up at once",
           [](Options& o, std::string_view v) { o.in_flight = number<unsigned>(v); }},
    Option{"--question", "bytes", [](Options& o, std::string_view v) { o.question = number<std::uint32_t>(v); }},
    Option{"--answer", "bytes", [](Options& o, std::string_view v) { o.answer = number<std::uint32_t>(v); }},
    Option{"--warm-up", "ms", [](Options& o, std::string_view v) { o.warm_up = milliseconds(v); }},
    Option{"--measure", "ms", [](Options& o, std::string_view v) { o.measure = milliseconds(v); }},
    Option{"--interval", "ms between two heartbeats of a session",
           [](Options& o, std::string_view v) { o.interval = milliseconds(v); }},
    Option{"--slow", "1: the stalled origin reads 64 KiB every 50 ms",
           [](Options& o, std::string_view v) { o.slow = number<unsigned>(v) != 0; }},
    Option{"--proxy", "process of the proxy; repeatable",
           [](Options& o, std::string_view v) { o.proxies.push_back(number<pid_t>(v)); }},
    Option{"--origin-process", "process of the origin",
           [](Options& o, std::string_view v) { o.origin_process = number<pid_t>(v); }},
};

}  // namespace

Options parse_options(int count, char** words) {
  Options options;
  for (int i = 0; i < count; i += 2) {
    const std::string_view name = words[i];
    const auto* option =
        std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& o) { return o.name == name; });
    if (option == kOptions.end()) stop("unknown option '{}'\n{}", name, options_text());
    if (i + 1 == count) stop("{} needs a value", name);
    option->set(options, words[i + 1]);
  }
  if (options.counters.empty()) stop("--counters FILE is needed");
  if (options.question == 0 || options.answer == 0) stop("a question and its answer need at least one byte");
  return options;
}

std::string options_text() {
  std::string text;
  for (const Option& option : kOptions) text += fmt::format("  {:<18} {}\n", option.name, option.meaning);
  return text;
}

}  // namespace ravelin::bench
