// A daemon's main: settings from file and flags, then the daemon's life, as the keeper that an operator starts or as
// the worker that the keeper starts.
//
//   int main(int argc, char** argv) {
//     return daemon::run_program<Edge, Settings>(argc, argv, settings_schema(), program());
//   }
#pragma once

#include <cstdio>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

#include "config/config.h"
#include "daemon/daemon.h"
#include "daemon/keep.h"
#include "relay/passed_listeners.h"
#include "sys/descriptor.h"
#include "sys/signals.h"

namespace ravelin::daemon {

// The exit code. `Application` is made of a Daemon and the loaded settings, and has a plan().
template <class Application, class Settings>
int run_program(int argc, char** argv, const config::Schema<Settings>& schema, const config::Program& program) {
  // No signal that a daemon takes ends it by its default action, at whatever moment it comes: until run() handles them
  // and when it does not any more, they wait. TERM and INT may end what only reads its settings.
  sys::block_signals({SIGHUP, SIGUSR2});
  sys::fill_standard_streams();
  try {
    if (const auto code = run_replaced_keeper(argc, argv, program)) return *code;
    auto keeper = relay::KeeperLink::from_environment(relay::WorkerProgram::of(argc, argv));
    auto loaded = config::load(argc, argv, schema, program, keeper ? keeper->kept_settings() : std::nullopt);
    if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
    auto& settings = std::get<config::Loaded<Settings>>(loaded);
    std::vector<relay::Inheritance::Listener> passed;
    if (!keeper) {
      auto taken = relay::take_passed_listeners();
      if (!taken) {
        std::fprintf(stderr, "%s: %s\n", program.name.c_str(), taken.error().text().c_str());
        return static_cast<int>(sys::Exit::bad_config);
      }
      passed = std::move(*taken);
    }
    if (!keeper && settings.settings.keeper) {
      return run_keeper(argc, argv, program, settings.settings.log, std::move(passed));
    }
    sys::block_signals({SIGTERM, SIGINT});
    Daemon daemon(program, settings.settings, std::move(keeper), std::move(passed));
    Application application(daemon, std::move(settings));
    const Plan plan = application.plan();
    return static_cast<int>(daemon.run(plan));
  } catch (const std::exception& error) {
    // What libuv and the standard library cannot have at the start: memory, descriptors, threads.
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
    return static_cast<int>(sys::Exit::failed);
  }
}

}  // namespace ravelin::daemon
