// The redirector: an edge that forwards TCP sessions to an origin that nobody has to know.

#include "daemon/program.h"
#include "redirector/edge.h"
#include "redirector/program.h"
#include "redirector/settings.h"

int main(int argc, char** argv) {
  using namespace ravelin;
  return daemon::run_program<redirector::Edge, redirector::Settings>(argc, argv, redirector::settings_schema(),
                                                                     redirector::program());
}
