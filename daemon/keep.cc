#include "daemon/keep.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "daemon/notify.h"
#include "relay/keeper.h"

namespace ravelin::daemon {
namespace {

relay::KeeperOptions options_for(int argc, const char* const* argv, const config::Program& program,
                                 const config::LogSettings& log) {
  return {.program = relay::WorkerProgram::of(argc, argv),
          .name = program.name,
          .log_format = log.format,
          .log_level = log.level,
          .notify = [](std::string_view state) { notify(state); }};
}

}  // namespace

int run_keeper(int argc, const char* const* argv, const config::Program& program, const config::LogSettings& log,
               std::vector<relay::Inheritance::Listener> passed) {
  relay::Keeper keeper(options_for(argc, argv, program, log));
  keeper.hold(std::move(passed));
  return keeper.run();
}

std::optional<int> run_replaced_keeper(int argc, const char* const* argv, const config::Program& program) {
  const char* state = std::getenv(relay::kStateVariable);
  if (state == nullptr) return std::nullopt;
  sys::UniqueFd file(std::atoi(state));
  ::unsetenv(relay::kStateVariable);
  relay::Keeper keeper(options_for(argc, argv, program, {}));
  if (const auto restored = keeper.restore(std::move(file)); !restored) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), restored.error().text().c_str());
    return static_cast<int>(sys::Exit::failed);
  }
  return keeper.run();
}

}  // namespace ravelin::daemon
