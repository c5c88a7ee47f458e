// The table of the daemon's settings.
#pragma once

#include "config/command_line.h"
#include "config/schema.h"
#include "daemon/settings.h"
#include "gateway/settings.h"

namespace ravelin::gateway {

struct Settings : daemon::DaemonSettings, FrontSettings {};

[[nodiscard]] config::Schema<Settings> settings_schema();
[[nodiscard]] config::Program program();

}  // namespace ravelin::gateway
