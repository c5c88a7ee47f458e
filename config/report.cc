#include "config/report.h"

#include <fmt/format.h>

#include "config/path.h"

namespace ravelin::config {

void Report::at(std::string_view path, std::string_view what) {
  const Node* node = &node_;
  for (const Step& step : parse_path(path)) {
    const Node* next = node->find(step.key);
    if (next != nullptr && step.which == Step::Which::nth) {
      next = step.index < next->items.size() ? &next->items[step.index] : nullptr;
    }
    if (next == nullptr) break;
    node = next;
  }
  errors_.push_back(error_at(node->place, file_, join_path(path_, path), what));
}

ConfigError error_at(const Place& where, const std::string& file, std::string_view path, std::string_view what) {
  if (!where.flag.empty()) return {.what = fmt::format("{}: {}", where.flag, printable(what))};
  const std::string named = path.empty() ? printable(what) : fmt::format("{}: {}", path, printable(what));
  return {.file = file, .line = where.line, .column = where.column, .what = named};
}

}  // namespace ravelin::config
