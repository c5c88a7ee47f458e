// Whether a program would connect to itself. Literals, Unix paths and `localhost` only: what another name means can
// change after it was asked, and asking may take long.
#pragma once

#include "sys/address.h"

namespace ravelin::sys {

// A connection to `target` from this machine would arrive at a socket that listens on `listener`. For a listener on
// every address the machine's interfaces are asked.
[[nodiscard]] bool leads_to(const Endpoint& target, const Endpoint& listener);

}  // namespace ravelin::sys
