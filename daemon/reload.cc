#include "daemon/reload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace ravelin::daemon {
namespace {

constexpr std::array<std::string_view, 3> kForARestart{"loops", "pipes.most", "keeper"};
constexpr std::array<std::string_view, 3> kMeans{"in place", "by hand-over", "at a restart"};

}  // namespace

bool is_for_a_restart(const config::Change& change) {
  return std::ranges::find(kForARestart, change.path) != kForARestart.end();
}

void Revision::exchange(Means before, Means now) {
  for (Step& step : steps) {
    if (step.means == before) step.means = now;
  }
}

std::vector<config::Change> Revision::changes(Means means) const {
  std::vector<config::Change> result;
  for (const Step& step : steps) {
    if (step.means == means) result.push_back(step.change);
  }
  return result;
}

std::string paths_of(const std::vector<config::Change>& changes) {
  std::string text;
  for (const auto& change : changes) text += (text.empty() ? "" : " ") + change.path;
  return text;
}

nlohmann::json to_json(const Revision& revision) {
  auto changes = nlohmann::json::array();
  for (const Step& step : revision.steps) {
    changes.push_back({{"setting", step.change.path},
                       {"before", step.change.before.value_or("not set")},
                       {"after", step.change.after.value_or("not set")},
                       {"means", kMeans[static_cast<std::size_t>(step.means)]}});
  }
  auto touched = nlohmann::json::array();
  for (const Touched& each : revision.touched) {
    touched.push_back({{"what", each.what}, {"sessions", each.sessions}, {"fate", each.fate}});
  }
  return {{"changes", std::move(changes)}, {"touched", std::move(touched)}};
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
