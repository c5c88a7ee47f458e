// SIGHUP: the file is read again, and nothing is pretended. A file with an error is refused as a whole and the old
// settings stay; of a good one the log says which settings are in force now and which wait for a restart.
//
//   if (auto next = daemon::reread(log, loaded_, schema_)) {
//     ... apply what can be applied to the running program ...
//     const auto changes = config::diff(loaded_.settings, next->settings, schema_);
//     daemon::report_reload(log, changes, [](const config::Change& change) { return change.path == "log.level"; });
//   }
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "config/config.h"
#include "sys/log.h"

namespace ravelin::daemon {

void report_refused(sys::Log& log, const config::ConfigErrors& errors);
// `applied` tells of each change whether it is in force. Returns the ones that are not.
std::vector<config::Change> report_reload(sys::Log& log, const std::vector<config::Change>& changes,
                                          const std::function<bool(const config::Change&)>& applied);
// The settings in force as text, with a head that names those that wait.
[[nodiscard]] std::string with_waiting(const std::vector<config::Change>& waiting, std::string text);

template <class T>
[[nodiscard]] std::optional<config::Loaded<T>> reread(sys::Log& log, const config::Loaded<T>& before,
                                                      const config::Schema<T>& schema) {
  auto next = config::reload(before.command_line, schema);
  if (next) return std::move(*next);
  report_refused(log, next.error());
  return std::nullopt;
}

}  // namespace ravelin::daemon
