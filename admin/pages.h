// The pages that every daemon has, and the shape of those that only one has.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "admin/metrics.h"
#include "admin/readiness.h"
#include "admin/server.h"

namespace ravelin::admin {

// GET /metrics; /healthz: 200 "ok" as long as the control loop turns; /readyz: 200 "ready", or 503 with a reason a
// line. Both sources must outlive the server.
void add_standard_pages(AdminServer& server, const Metrics& metrics, const Readiness& readiness);

// An answer in JSON, for /sessions and its like. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] Response json_response(const nlohmann::json& value);
// A failure in JSON: {"error":"..."}.
[[nodiscard]] Response json_error(unsigned status, std::string_view what);

}  // namespace ravelin::admin
