#include "daemon/reload.h"

#include <fmt/format.h>

namespace ravelin::daemon {
namespace {

std::string paths_of(const std::vector<config::Change>& changes) {
  std::string text;
  for (const auto& change : changes) text += (text.empty() ? "" : " ") + change.path;
  return text;
}

}  // namespace

void report_refused(sys::Log& log, const config::ConfigErrors& errors) {
  log.line(sys::LogLevel::error, "reload_refused")
      .field("errors", errors.size())
      .field("error", config::text_of(errors))
      .field("hint", "the settings in force stay");
}

std::vector<config::Change> report_reload(sys::Log& log, const std::vector<config::Change>& changes,
                                          const std::function<bool(const config::Change&)>& applied) {
  std::vector<config::Change> done;
  std::vector<config::Change> waiting;
  for (const auto& change : changes) (applied(change) ? done : waiting).push_back(change);
  log.line(sys::LogLevel::info, "reloaded").field("changes", changes.size()).field("applied", paths_of(done));
  if (!waiting.empty()) {
    log.line(sys::LogLevel::warning, "restart_needed")
        .field("changes", waiting.size())
        .field("settings", paths_of(waiting));
  }
  return waiting;
}

std::string with_waiting(const std::vector<config::Change>& waiting, std::string text) {
  std::string head;
  for (const auto& change : waiting) {
    head += fmt::format("# waiting for a restart: {}: {} -> {}\n", change.path, change.before.value_or("not set"),
                        change.after.value_or("not set"));
  }
  return head + std::move(text);
}

}  // namespace ravelin::daemon
