// Ports that sessions to an origin can come from: each local address has some 28,000 toward one address of an origin,
// and every session takes one for as long as it lives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "redirector/candidate.h"
#include "redirector/pool.h"
#include "sys/log.h"

namespace ravelin::redirector {

// How many sessions there can be at once to a candidate of the view, `ports` being what one local address has; nothing
// for a Unix socket, which needs no port.
[[nodiscard]] std::optional<std::uint64_t> source_ports(const PoolView& view, const Candidate& candidate,
                                                        std::uint32_t ports);

// Warns of each pool that cannot carry `sessions`: better now than with the session that finds no port.
void warn_of_few_source_ports(sys::Log& log, const std::vector<Pool>& pools, std::uint64_t sessions);

}  // namespace ravelin::redirector
