// Whether the daemon can do its job now, and if not, why. The daemon registers one condition for everything that its
// job depends on; each adds a reason for every way in which it fails. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ravelin::admin {

class Readiness {
 public:
  using Reasons = std::vector<std::string>;
  using Condition = std::function<void(Reasons&)>;

  void add(Condition condition) { conditions_.push_back(std::move(condition)); }
  // Empty means ready.
  [[nodiscard]] Reasons reasons() const {
    Reasons reasons;
    for (const auto& condition : conditions_) condition(reasons);
    return reasons;
  }

 private:
  std::vector<Condition> conditions_;
};

}  // namespace ravelin::admin
