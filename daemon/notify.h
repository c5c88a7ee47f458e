// Tells systemd where the service stands (sd_notify(3)): one datagram to the socket that $NOTIFY_SOCKET names, if it
// names one. Never blocks, never fails: without a service manager nobody is there to be told.
#pragma once

#include <string_view>

namespace ravelin::daemon {

void notify(std::string_view state);  // "READY=1"

}  // namespace ravelin::daemon
