#include "redirector/balance.h"

#include <algorithm>
#include <utility>

namespace ravelin::redirector {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Neither good nor, its mark having run out, due for another attempt.
bool is_avoided(const Candidate& candidate, std::int64_t now_ms) {
  return candidate.avoid_until_ms.load(kRelaxed) > now_ms;
}

// The admitted candidate with the least `cost`; of equal ones the one whose turn it is. Turns count admitted ones only:
// the neighbour of a failed candidate does not get its share on top of its own.
template <class Admit, class Cost>
Candidate* least(const PoolView& pool, std::size_t turn, Admit admit, Cost cost) {
  const auto admitted = static_cast<std::size_t>(
      std::ranges::count_if(pool.candidates, [&](const auto& candidate) { return admit(*candidate); }));
  if (admitted == 0) return nullptr;
  const std::size_t first = turn % admitted;
  Candidate* best = nullptr;
  std::pair<std::uint32_t, std::size_t> best_rank;
  std::size_t place = 0;
  for (const auto& candidate : pool.candidates) {
    if (!admit(*candidate)) continue;
    const std::pair rank(cost(*candidate), (place++ + admitted - first) % admitted);
    if (best != nullptr && rank >= best_rank) continue;
    best = candidate.get();
    best_rank = rank;
  }
  return best;
}

// Moves the mark of a candidate whose time has come, so that of all sessions that arrive now one alone tries it.
bool claim(Candidate& candidate, std::int64_t now_ms) {
  std::int64_t mark = candidate.avoid_until_ms.load(kRelaxed);
  if (mark == 0) return true;
  return mark <= now_ms && candidate.avoid_until_ms.compare_exchange_strong(mark, now_ms + kAvoidFor.count(), kRelaxed);
}

}  // namespace

Candidate* choose(const PoolView& pool, std::uint64_t tried, std::int64_t now_ms) {
  const std::size_t turn = pool.balancing == Balancing::first_available ? 0 : pool.turn->fetch_add(1, kRelaxed);
  const auto untried = [tried](const Candidate& candidate) {
    return (tried & tried_bit(candidate)) == 0 && !candidate.is_full();
  };
  const auto usable = [&](const Candidate& candidate) { return untried(candidate) && !is_avoided(candidate, now_ms); };
  const auto cost = [&pool](const Candidate& candidate) {
    return pool.balancing == Balancing::least_sessions ? candidate.sessions.load(kRelaxed) : 0U;
  };
  while (Candidate* candidate = least(pool, turn, usable, cost)) {
    if (claim(*candidate, now_ms)) return candidate;  // else another loop was quicker, and it is avoided now
  }
  return least(pool, turn, untried, cost);
}

void mark_failed(Candidate& candidate, std::int64_t now_ms) {
  candidate.avoid_until_ms.store(now_ms + kAvoidFor.count(), kRelaxed);
}

void mark_good(Candidate& candidate) {
  if (candidate.avoid_until_ms.load(kRelaxed) != 0) candidate.avoid_until_ms.store(0, kRelaxed);
}

bool is_reachable(const PoolView& pool, std::int64_t now_ms) {
  return std::ranges::any_of(pool.candidates, [=](const auto& candidate) { return !is_avoided(*candidate, now_ms); });
}

}  // namespace ravelin::redirector
