// The metrics of the engine and of the log, the same in both daemons but for the prefix of their names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/metrics.h"
#include "relay/engine.h"
#include "sys/log.h"

namespace ravelin::daemon {

class EngineMetrics {
 public:
  // `prefix` is the program's name. What is asked about when somebody scrapes must live as long as the registry is
  // used.
  EngineMetrics(admin::Metrics& metrics, std::string_view prefix, std::string_view version, const relay::Engine& engine,
                const sys::Log& log);
  EngineMetrics(const EngineMetrics&) = delete;
  EngineMetrics& operator=(const EngineMetrics&) = delete;

 private:
  [[nodiscard]] std::string_view prefixed(std::string_view name);

  std::string prefix_;
  std::string version_;
  std::vector<std::unique_ptr<std::string>> names_;  // the registry keeps views of them
};

}  // namespace ravelin::daemon
