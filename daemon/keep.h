// The keeper's part of a daemon's main.
#pragma once

#include <optional>
#include <vector>

#include "config/command_line.h"
#include "config/log_settings.h"
#include "relay/inheritance.h"

namespace ravelin::daemon {

// This process becomes the keeper, whose workers are started with the same command line and get what was passed in. The
// exit code.
[[nodiscard]] int run_keeper(int argc, const char* const* argv, const config::Program& program,
                             const config::LogSettings& log, std::vector<relay::Inheritance::Listener> passed);

// Goes on being one where this process has replaced itself; nothing where it has not.
[[nodiscard]] std::optional<int> run_replaced_keeper(int argc, const char* const* argv, const config::Program& program);

}  // namespace ravelin::daemon
