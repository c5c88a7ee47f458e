// The redirector: an edge that forwards TCP sessions to an origin that nobody has to know.

#include <cstdio>
#include <exception>
#include <variant>

#include "config/config.h"
#include "daemon/daemon.h"
#include "redirector/edge.h"
#include "redirector/program.h"
#include "redirector/settings.h"
#include "sys/descriptor.h"

namespace {

using namespace ravelin;

int run(int argc, char** argv) {
  const config::Program program = redirector::program();
  auto loaded = config::load(argc, argv, redirector::settings_schema(), program);
  if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
  auto& settings = std::get<config::Loaded<redirector::Settings>>(loaded);
  daemon::Daemon daemon(program, settings.settings);
  redirector::Edge edge(daemon, std::move(settings));
  const daemon::Plan plan = edge.plan();
  return static_cast<int>(daemon.run(plan));
}

}  // namespace

// What throws is what libuv and the standard library cannot have at the start: memory, descriptors, threads.
int main(int argc, char** argv) {
  sys::fill_standard_streams();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "redirector: %s\n", error.what());
    return static_cast<int>(sys::Exit::failed);
  }
}
