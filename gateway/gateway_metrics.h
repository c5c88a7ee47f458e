// The metrics of the gateway's own counters.
#pragma once

#include <ppv2/peer_map.h>

#include <functional>

#include "admin/metrics.h"
#include "relay/engine.h"

namespace ravelin::gateway {

using Count = std::function<std::uint64_t(unsigned counter)>;  // over all loops

// What is asked about must live as long as the registry is used.
void add_gateway_metrics(admin::Metrics& metrics, Count count, const ppv2::PeerMap& peers);

}  // namespace ravelin::gateway
