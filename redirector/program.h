// What the program is called, for its help, its version and its reference page.
#pragma once

#include "config/command_line.h"

namespace ravelin::redirector {

[[nodiscard]] inline config::Program program() {
  return {.name = "redirector",
          .version = RAVELIN_VERSION,
          .summary = "A TCP edge: forwards sessions to an origin, with a PROXY protocol v2 header in front",
          .example = "redirector --listen :443 --origin origin.example:443"};
}

}  // namespace ravelin::redirector
