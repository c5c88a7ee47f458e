// The gateway: takes the PROXY header off what edges forward, and knows who is behind every connection to the server.

#include "daemon/program.h"
#include "gateway/front.h"

int main(int argc, char** argv) {
  using namespace ravelin;
  return daemon::run_program<gateway::Front, gateway::Settings>(argc, argv, gateway::settings_schema(),
                                                                gateway::program());
}
