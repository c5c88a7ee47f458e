// Listening sockets that a service manager has opened for this process (sd_listen_fds(3)): with them it needs no
// privilege to serve a port below 1024. They are used as those are that another process has left behind: a listener of
// the settings takes the one with its address.
//
// Asked once, at the start, by the process that was started: a keeper, or a program without one.
#pragma once

#include <vector>

#include "relay/inheritance.h"
#include "sys/result.h"

namespace ravelin::relay {

// What $LISTEN_PID and $LISTEN_FDS say, from descriptor `first` on; empty if they are for somebody else. The variables
// are gone afterwards. Fails on a socket that no listener of the settings could be, and says how to pass it instead.
[[nodiscard]] sys::Result<std::vector<Inheritance::Listener>> take_passed_listeners(int first = 3);

}  // namespace ravelin::relay
