// The choice of a candidate for one session. Any thread; waits for nobody.
//
// A candidate that failed is marked for kAvoidFor: it is then chosen only when every other one has been tried or is
// marked as well, so that a pool whose origins all failed goes on being tried. When the mark has run out, one session a
// kAvoidFor tries the candidate, and the first success takes the mark away.
#pragma once

#include <chrono>
#include <cstdint>

#include "redirector/candidate.h"

namespace ravelin::redirector {

inline constexpr std::chrono::milliseconds kAvoidFor = std::chrono::seconds(10);

// The bit that stands for a candidate in a session's `tried`. In a pool of more than 64 candidates some share a bit,
// and having tried one of them counts as having tried all: a candidate is never tried twice.
[[nodiscard]] constexpr std::uint64_t tried_bit(const Candidate& candidate) {
  return std::uint64_t{1} << (candidate.index % 64);
}

// Null if each one has been tried or is full, or there is none.
[[nodiscard]] Candidate* choose(const PoolView& pool, std::uint64_t tried, std::int64_t now_ms);

void mark_failed(Candidate& candidate, std::int64_t now_ms);
void mark_good(Candidate& candidate);

// At least one candidate may be chosen before any other choice is left: it never failed, or its mark has run out. Not
// to call those reachable would keep whoever asks from sending the one session that finds out.
[[nodiscard]] bool is_reachable(const PoolView& pool, std::int64_t now_ms);

}  // namespace ravelin::redirector
