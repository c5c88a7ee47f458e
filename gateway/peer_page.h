// GET /peer?inner=ADDRESS: who is behind an inner connection, for programs that do not link the library.
//
//   {"inner": "127.0.0.1:41234", "measured": "198.51.100.7:40112", "claimed": "203.0.113.9:51234",
//    "claim_trusted": true, "edge": "fra-1", "edge_session": "0190...", "since": "2026-01-02T03:04:05.678Z"}
//
// ADDRESS is the connection's peer as the server sees it: "127.0.0.1:41234", gRPC's "ipv4:127.0.0.1:41234" or
// "unix:@0001f". 404 means unknown, and never trusted.
#pragma once

#include <ppv2/peer_map.h>

#include "admin/message.h"

namespace ravelin::gateway {

[[nodiscard]] admin::Response peer_page(const ppv2::PeerMap& peers, const admin::Request& request);

}  // namespace ravelin::gateway
