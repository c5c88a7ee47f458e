#include "config/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ravelin::config {

std::vector<Step> parse_path(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    const auto part = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    const auto bracket = part.find('[');
    Step step{.key = std::string(part.substr(0, bracket))};
    if (bracket != part.npos) {
      const auto index = part.substr(bracket + 1, part.size() - bracket - 2);
      step.which = index.empty() ? Step::Which::append : index == "*" ? Step::Which::every : Step::Which::nth;
      std::from_chars(index.data(), index.data() + index.size(), step.index);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string join_path(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
}

std::string join_path(std::string_view list, std::size_t index) {
  return fmt::format("{}[{}]", list, index);
}

}  // namespace ravelin::config
