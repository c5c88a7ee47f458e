// The gateway: takes the PROXY header off what edges forward, and knows who is behind every connection to the server.

#include <cstdio>
#include <exception>
#include <variant>

#include "config/config.h"
#include "daemon/daemon.h"
#include "gateway/front.h"
#include "sys/descriptor.h"

namespace {

using namespace ravelin;

int run(int argc, char** argv) {
  auto loaded = config::load(argc, argv, gateway::settings_schema(), gateway::program());
  if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
  auto& settings = std::get<config::Loaded<gateway::Settings>>(loaded);
  daemon::Daemon daemon(gateway::program(), settings.settings);
  gateway::Front front(daemon, std::move(settings));
  const daemon::Plan plan = front.plan();
  return static_cast<int>(daemon.run(plan));
}

}  // namespace

// What throws is what libuv and the standard library cannot have at the start: memory, descriptors, threads.
int main(int argc, char** argv) {
  sys::fill_standard_streams();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gateway: %s\n", error.what());
    return static_cast<int>(sys::Exit::failed);
  }
}
