// The settings of the log, the same in every daemon.
#pragma once

#include <array>

#include "config/schema.h"
#include "sys/log.h"

namespace ravelin::config {

constexpr auto names_of(EnumOf<sys::LogFormat>) {
  return std::to_array<Named<sys::LogFormat>>({{"json", sys::LogFormat::json}, {"text", sys::LogFormat::text}});
}

constexpr auto names_of(EnumOf<sys::LogLevel>) {
  using enum sys::LogLevel;
  return std::to_array<Named<sys::LogLevel>>(
      {{"debug", debug}, {"info", info}, {"warning", warning}, {"error", error}});
}

struct LogSettings {
  sys::LogFormat format = sys::LogFormat::json;
  sys::LogLevel level = sys::LogLevel::info;
};

[[nodiscard]] inline Schema<LogSettings> log_schema() {
  Schema<LogSettings> log;
  log.option("format", &LogSettings::format,
             {.help = "one JSON object a line, or text for people", .flag = "--log-format"})
      .option("level", &LogSettings::level, {.help = "the least level that is logged", .flag = "--log-level"});
  return log;
}

}  // namespace ravelin::config
