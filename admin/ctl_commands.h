// What ravelinctl does with a daemon, a function for each command. Each asks over the admin socket, prints to stdout
// what an operator wants to know, and returns the exit code. Changes go by POST over the Unix socket.
#pragma once

#include <string>

#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::admin {

struct CtlOptions {
  bool dry_run = false;  // reload
  std::string timeout;   // drain; empty: as the daemon's settings say
  std::string spread;
  bool wait = false;
  bool json = false;  // sessions, origins
  std::string id;     // kill
};

// A name of one of the functions below.
using CtlCommand = sys::Exit (*)(const sys::Endpoint& daemon, const CtlOptions& options);

sys::Exit show_sessions(const sys::Endpoint& daemon, const CtlOptions& options);
sys::Exit show_origins(const sys::Endpoint& daemon, const CtlOptions& options);
sys::Exit show_config(const sys::Endpoint& daemon, const CtlOptions& options);
// Returns when the settings are in force, or refused.
sys::Exit reload(const sys::Endpoint& daemon, const CtlOptions& options);
// Returns when the new worker serves, or cannot.
sys::Exit upgrade(const sys::Endpoint& daemon, const CtlOptions& options);
sys::Exit drain(const sys::Endpoint& daemon, const CtlOptions& options);
sys::Exit kill_session(const sys::Endpoint& daemon, const CtlOptions& options);

// The exit code for a daemon that could not be asked, said on stderr.
sys::Exit say_unreachable(const sys::Error& error);

}  // namespace ravelin::admin
