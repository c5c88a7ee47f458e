// The log: one event a line on stderr, as JSON or as text for people.
//
//   log.line(Level::info, "listening").field("address", "0.0.0.0:443").field("listener", "main");
//   {"ts":"2026-01-02T03:04:05.678Z","level":"info","event":"listening","address":"0.0.0.0:443","listener":"main"}
//
// Any thread may write. A thread of the log's own does the output, so that a reader who stopped reading stderr never
// stops a loop: when 8,192 lines wait, the oldest are given up and counted exactly (`dropped`).
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sys/address.h"

namespace ravelin::sys {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { json, text };

class Log;

// One line under construction; written when it goes out of scope. Field names are literals of the program's own and are
// not escaped, values are.
class LogLine {
 public:
  LogLine(LogLine&&) = delete;
  LogLine& operator=(LogLine&&) = delete;
  ~LogLine();

  LogLine& field(std::string_view name, std::string_view value);
  LogLine& field(std::string_view name, const char* value) { return field(name, std::string_view(value)); }
  LogLine& field(std::string_view name, const SocketAddress& value) { return field(name, value.text()); }
  LogLine& field(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) LogLine& field(std::string_view name, T value) {
    return raw(name, fmt::format_int(value).c_str());
  }

 private:
  friend class Log;
  LogLine(Log* log, LogLevel level, std::string_view event);
  LogLine& raw(std::string_view name, std::string_view value);
  void name_of(std::string_view name);

  Log* log_;  // null when the level is off: fields are then not built
  LogLevel level_;
  fmt::memory_buffer text_;
};

class Log {
 public:
  explicit Log(LogFormat format = LogFormat::json, LogLevel least = LogLevel::info, int fd = 2);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();  // writes what is waiting, as long as somebody reads it

  [[nodiscard]] LogLine line(LogLevel level, std::string_view event) {
    return {enabled(level) ? this : nullptr, level, event};
  }
  [[nodiscard]] bool enabled(LogLevel level) const;
  void set_level(LogLevel least);
  [[nodiscard]] std::uint64_t dropped() const;
  // Writes what is waiting, as ~Log() does, for a program that ends without destructors. Nothing may be logged any
  // more.
  void finish();

 private:
  friend class LogLine;
  struct Sink;
  LogFormat format_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace ravelin::sys
