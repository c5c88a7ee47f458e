// GET /sessions: what every session is doing, as JSON. The loops only copy records; the text is made on the control
// loop.
//
//   {"total": 2, "sessions": [{"id": "...", "phase": "relaying", "listener": "main", "client": "192.0.2.1:4711", ...}]}
//
// `?limit=N` shows at most N of them (1,000 if it is left out).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>

#include "admin/server.h"
#include "relay/engine.h"

namespace ravelin::daemon {

// Adds what the program knows of a session; `session` is a copy.
using DescribeSession = std::function<void(nlohmann::json& out, relay::SessionView session)>;

// `engine` must outlive the server's last request.
void add_session_page(admin::AdminServer& server, relay::Engine& engine, DescribeSession describe);

}  // namespace ravelin::daemon
