#include "config/section.h"

#include <algorithm>

namespace ravelin::config {

const Entry* Section::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  return found == entries_.end() ? nullptr : &*found;
}

void Section::run_checks(const void* object, Report& report) const {
  for (const auto& check : checks_) check(object, report);
}

}  // namespace ravelin::config
