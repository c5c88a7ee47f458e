// The gateway: takes the PROXY header off what edges forward, and knows who is behind every connection to the server.

#include "config/config.h"
#include "daemon/daemon.h"
#include "gateway/front.h"

int main(int argc, char** argv) {
  using namespace ravelin;
  auto loaded = config::load(argc, argv, gateway::settings_schema(), gateway::program());
  if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
  auto& settings = std::get<config::Loaded<gateway::Settings>>(loaded);
  daemon::Daemon daemon(gateway::program(), settings.settings);
  gateway::Front front(daemon, std::move(settings));
  return static_cast<int>(daemon.run(front.plan()));
}
