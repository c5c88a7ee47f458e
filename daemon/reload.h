// New settings: what they change, by which means, and whom it touches. A file with an error is refused as a whole.
//
//   daemon::Revision Edge::revise() {
//     return daemon::revision(loaded_, schema_, means_of, [this](Loaded next) { ... apply what is in place ... });
//   }
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "relay/policy.h"
#include "relay/settings.h"
#include "sys/log.h"

namespace ravelin::daemon {

// How a changed setting comes into force.
enum class Means : std::uint8_t {
  in_place,   // at once, in the process that runs
  hand_over,  // by a new worker that takes over all sessions; without a keeper it waits for a restart
  restart,    // not while there are sessions: the session table has its shape for good
};

struct Step {
  config::Change change;
  Means means;
};

// Sessions that lose what they came by.
struct Touched {
  std::string what;  // "origin 192.0.2.1:443 of pool main"
  std::uint64_t sessions = 0;
  std::string fate;  // "go on until they end"
};

struct Revision {
  std::string refusal;  // every error with file:line:column; empty: the file is good
  std::vector<Step> steps;
  std::vector<relay::ListenerOptions> listeners;  // as they would be
  std::vector<Touched> touched;
  // The place in `touched` that a session counts in, if it loses anything; on its loop's thread. May be empty.
  std::function<std::optional<std::size_t>(const relay::SessionView& session)> touches;
  std::function<void()> apply;  // what is in place, and nothing else

  void exchange(Means before, Means now);
  [[nodiscard]] std::vector<config::Change> changes(Means means) const;
};

// Settings that no process can change while it has sessions, in both programs.
[[nodiscard]] bool is_for_a_restart(const config::Change& change);

[[nodiscard]] std::string paths_of(const std::vector<config::Change>& changes);
[[nodiscard]] nlohmann::json to_json(const Revision& revision);
// The settings in force as text, with a head that names those that wait.
[[nodiscard]] std::string with_waiting(const std::vector<config::Change>& waiting, std::string text);

template <class T>
[[nodiscard]] Revision revision(const config::Loaded<T>& before, const config::Schema<T>& schema,
                                const std::function<Means(const config::Change&, const T& next)>& means,
                                std::function<void(config::Loaded<T>)> apply,
                                const std::function<void(const T& next, Revision& revision)>& say_touched = {}) {
  Revision revision;
  auto next = config::reload(before.command_line, schema);
  if (!next) {
    revision.refusal = config::text_of(next.error());
    return revision;
  }
  for (const config::Change& change : config::diff(before.settings, next->settings, schema)) {
    revision.steps.push_back({change, is_for_a_restart(change) ? Means::restart : means(change, next->settings)});
  }
  for (const auto& listener : next->settings.listeners) revision.listeners.push_back(listener);
  if (say_touched) say_touched(next->settings, revision);
  revision.apply = [apply = std::move(apply), next = std::move(*next)] { apply(next); };
  return revision;
}

}  // namespace ravelin::daemon
