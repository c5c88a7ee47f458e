// The redirector: an edge that forwards TCP sessions to an origin that nobody has to know.

#include <cstdio>
#include <exception>
#include <variant>

#include "config/config.h"
#include "daemon/daemon.h"
#include "redirector/edge.h"
#include "redirector/settings.h"

namespace {

using namespace ravelin;

const config::Program kProgram{
    .name = "redirector",
    .version = RAVELIN_VERSION,
    .summary = "A TCP edge: forwards sessions to an origin, with a PROXY protocol v2 header in front",
    .example = "redirector --listen :443 --origin origin.example:443"};

int run(int argc, char** argv) {
  auto loaded = config::load(argc, argv, redirector::settings_schema(), kProgram);
  if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
  auto& settings = std::get<config::Loaded<redirector::Settings>>(loaded);
  daemon::Daemon daemon(kProgram, settings.settings);
  redirector::Edge edge(daemon, std::move(settings));
  const daemon::Plan plan = edge.plan();
  return static_cast<int>(daemon.run(plan));
}

}  // namespace

// What throws is what libuv and the standard library cannot have at the start: memory, descriptors, threads.
int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "redirector: %s\n", error.what());
    return static_cast<int>(sys::Exit::failed);
  }
}
