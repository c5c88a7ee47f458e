// The gateway: takes the PROXY header off what edges forward, and knows who is behind every connection to the server.

#include "config/config.h"
#include "daemon/daemon.h"
#include "gateway/front.h"

int main(int argc, char** argv) {
  using namespace ravelin;
  const config::Program program{
      .name = "gateway",
      .version = RAVELIN_VERSION,
      .summary = "takes the PROXY header off what edges forward, and knows the real peer of every inner connection",
      .example = "gateway --listen :8443 --inner 127.0.0.1:9443 --trusted-edge 203.0.113.0/24"};
  auto loaded = config::load(argc, argv, gateway::settings_schema(), program);
  if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
  auto& settings = std::get<config::Loaded<gateway::Settings>>(loaded);
  daemon::Daemon daemon(program, settings.settings);
  gateway::Front front(daemon, std::move(settings));
  return static_cast<int>(daemon.run(front.plan()));
}
