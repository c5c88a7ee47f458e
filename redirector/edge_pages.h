// What the redirector shows of its pools: GET /origins, metrics, and the reasons for not being ready. All of it is read
// on the control loop when somebody asks; `pools` and `engine` must outlive who asks.
#pragma once

#include <vector>

#include "admin/metrics.h"
#include "admin/readiness.h"
#include "admin/server.h"
#include "redirector/pool.h"
#include "relay/engine.h"

namespace ravelin::redirector {

void add_edge_pages(admin::AdminServer& server, const std::vector<Pool>& pools);
void add_edge_metrics(admin::Metrics& metrics, const std::vector<Pool>& pools);
void add_session_metrics(admin::Metrics& metrics, const relay::Engine& engine);
void add_edge_conditions(admin::Readiness& readiness, const std::vector<Pool>& pools);

}  // namespace ravelin::redirector
