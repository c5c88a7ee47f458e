// The workloads by name. Each runs once, in the calling thread, and returns what it measured as one JSON object with
// at least "errors"; main adds what is common to all.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/bench/load/counters.h"
#include "tests/bench/load/options.h"

namespace ravelin::bench {

// Bytes one way or both ways as fast as they go; at the end every byte sent must have arrived.
nlohmann::json run_bulk(const Options& options, const Counters& counters);
// One message back and forth on each connection, without pause.
nlohmann::json run_ping_pong(const Options& options, const Counters& counters);
// Connect, question, answer, close; with `held` idle sessions beside.
nlohmann::json run_requests(const Options& options, const Counters& counters);
// Sets up `connections` sessions with one exchange each and holds them: memory, and CPU while nothing happens.
nlohmann::json run_idle(const Options& options, const Counters& counters);
// `connections` sessions of which each asks one question every `interval`, evenly spread.
nlohmann::json run_heartbeats(const Options& options, const Counters& counters);
// Sends to a reader that reads nothing, or little, until no more is taken: what is held, and where.
nlohmann::json run_stall(const Options& options, const Counters& counters);
// Sends random bytes through and compares every byte that comes back.
nlohmann::json run_exact(const Options& options, const Counters& counters);

}  // namespace ravelin::bench
