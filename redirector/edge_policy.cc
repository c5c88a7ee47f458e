#include "redirector/edge_policy.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cerrno>

#include "redirector/balance.h"
#include "relay/limits.h"
#include "relay/session_log.h"
#include "relay/socket.h"

namespace ravelin::redirector {
namespace {

using relay::Opening;
using relay::Reason;
using relay::SessionRecord;
using relay::SessionView;

constexpr auto kRelaxed = std::memory_order_relaxed;

EdgeSession& edge_session(SessionView session) {
  assert(session.extension.size() >= sizeof(EdgeSession));
  return *reinterpret_cast<EdgeSession*>(session.extension.data());
}

// This machine has run out of something; the candidate may be as good as ever.
bool is_our_own(int error) {
  switch (error) {
    case EADDRNOTAVAIL:
    case EADDRINUSE:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return true;
    default:
      return false;
  }
}

}  // namespace

OriginMarks origin_marks(SessionView session) {
  const EdgeSession& extension = edge_session(session);
  return {.pool = extension.pool, .origin = extension.origin};
}

EdgePolicy::EdgePolicy(const EdgeFacts& facts, sys::Log& log, relay::CounterBlock& counters, Views views, Clock now)
    : facts_(facts), log_(log), counters_(counters), pools_(views.size()), now_(now) {
  for (std::size_t pool = 0; pool < views.size(); ++pool) replace(pool, std::move(views[pool]));
}

void EdgePolicy::replace(std::size_t pool, std::shared_ptr<const PoolView> view) {
  KnownPool& known = pools_.at(pool);
  // A candidate without sessions has none on this loop either; other loops keep what they need themselves.
  for (auto& candidate : known.candidates) {
    if (candidate && candidate->sessions.load(kRelaxed) == 0) candidate.reset();
  }
  for (const auto& candidate : view->candidates) {
    if (known.candidates.size() <= candidate->index) known.candidates.resize(candidate->index + 1U);
    known.candidates[candidate->index] = candidate;
  }
  known.view = std::move(view);
}

Opening EdgePolicy::inspect(SessionView, std::span<const std::byte> bytes, bool ended) {
  if (!bytes.empty()) return {.verdict = Opening::Verdict::proceed};
  if (ended) return {.verdict = Opening::Verdict::close, .reason = Reason::silent};
  return {};
}

std::optional<relay::Target> EdgePolicy::next_target(SessionView session) {
  SessionRecord& record = session.record;
  const PoolView& view = *pools_[listener_of(record).pool].view;
  // It may have been taken over as one that relays, and had to start again.
  release(session);
  if (edge_session(session).process != facts_.process || record.attempts == 0) record.tried = 0;
  if (static_cast<unsigned>(std::popcount(record.tried)) >= view.connect_attempts) return std::nullopt;
  Candidate* candidate = choose(view, record.tried, now_());
  // Another loop may have taken the last place meanwhile.
  while (candidate != nullptr && !count_in_below_limit(session, view.mark, *candidate)) {
    candidate = choose(view, record.tried, now_());
  }
  if (candidate == nullptr) {
    const bool full = std::ranges::any_of(view.candidates, [&record](const auto& each) {
      return (record.tried & tried_bit(*each)) == 0 && each->is_full();
    });
    if (full) record.reason = Reason::origin_sessions;
    return std::nullopt;
  }
  record.tried |= tried_bit(*candidate);
  record.origin = candidate->index;
  candidate->attempts.fetch_add(1, kRelaxed);
  return relay::Target{.address = candidate->socket_address, .length = candidate->length, .origin = candidate->index};
}

relay::EndKind EdgePolicy::end_without_target(SessionView session) {
  if (session.record.reason != Reason::origin_sessions) return relay::EndKind::reset;
  counters_.add(relay::kLimitReached + static_cast<unsigned>(relay::Limit::origin_sessions));
  const bool closes = pools_[listener_of(session.record).pool].view->close_when_full;
  return closes ? relay::EndKind::fin : relay::EndKind::reset;
}

// Each source in turn, of those of the origin's family.
sys::Result<void> EdgePolicy::prepare(SessionView session, int fd, const relay::Target& target) {
  const auto& sources = pools_[listener_of(session.record).pool].view->sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const sys::SocketAddress& source = sources[source_turn_++ % sources.size()];
    if (source.family == target.address.ss_family) return relay::come_from(source, fd);
  }
  return {};
}

void EdgePolicy::attempt_failed(SessionView session, int error) {
  if (Candidate* candidate = counted_in(session)) {
    candidate->failures.fetch_add(1, kRelaxed);
    if (error == EADDRNOTAVAIL || error == EADDRINUSE) counters_.add(kSourcePortsExhausted);
    if (!is_our_own(error)) mark_failed(*candidate, now_());
  }
  release(session);
}

std::size_t EdgePolicy::write_header(SessionView session, std::span<std::byte> out) {
  if (Candidate* candidate = counted_in(session)) mark_good(*candidate);
  if (!listener_of(session.record).proxy_header) return 0;
  return redirector::write_header(out, session.record, facts_.header, facts_.edge_name);
}

void EdgePolicy::removed_listeners(const std::vector<std::string>& names) {
  for (const std::string& name : names) removed_.push_back({.name = name});
}

// Ends it in time if the settings have lost its origin; or no longer, if they have it back.
void EdgePolicy::review(SessionView session) {
  const KnownPool* pool = pool_of(session);
  if (pool == nullptr || !pool->view->close_removed_after || is_offered(*pool->view, session)) {
    session.record.end_by_ms = 0;
  } else if (session.record.end_by_ms == 0) {
    session.record.end_by_ms = now_() + pool->view->close_removed_after->count();
  }
}

// By the settings, whatever its name resolves to now; or at the same address by another origin.
bool EdgePolicy::is_offered(const PoolView& view, SessionView session) const {
  const std::uint32_t origin = edge_session(session).origin;
  if (origin == 0 || std::ranges::binary_search(view.origins, origin)) return true;
  const std::string address = origin_text(session);
  return std::ranges::any_of(view.candidates, [&](const auto& candidate) { return candidate->address == address; });
}

void EdgePolicy::relaying(SessionView session) {
  review(session);
  if (counted_in(session) != nullptr) return;
  // Taken over from another process, which numbered its candidates in its own way.
  const KnownPool* known = pool_of(session);
  if (known == nullptr) return;
  const std::string address = session.record.origin_peer.text();
  const auto same = std::ranges::find_if(
      known->candidates, [&](const auto& candidate) { return candidate && candidate->address == address; });
  if (same == known->candidates.end()) return;
  session.record.origin = (*same)->index;
  count_in(session, known->view->mark, **same);
}

void EdgePolicy::ending(SessionView session) {
  if (!relay::is_silent(session.record) && log_.enabled(relay::closing_level(session.record))) {
    relay::measure_round_trips(session.record);
  }
}

void EdgePolicy::ended(SessionView session) {
  const SessionRecord& record = session.record;
  const std::string origin = origin_text(session);
  release(session);
  const bool failed = is_failure(record.reason);
  if (!failed && relay::is_silent(record)) return counters_.add(kSessionsWithoutPayload);
  if (failed && !failed_lines_.admit(log_, now_())) return counters_.add(kFailedSessionsHeldBack);
  auto line = log_.line(relay::closing_level(record), "session_closed");
  line.field("id", record.id.text())
      .field("edge", facts_.edge_name)
      .field("listener", listener_of(record).name)
      .field("client", record.client)
      .field("origin", origin);
  relay::add_session_fields(line, record);
}

const EdgeFacts::Listener& EdgePolicy::listener_of(const SessionRecord& record) const {
  if (record.listener < facts_.listeners.size()) return facts_.listeners[record.listener];
  return removed_.at(record.listener - facts_.listeners.size());
}

// Null: the settings have lost it.
const EdgePolicy::KnownPool* EdgePolicy::pool_of(SessionView session) const {
  const std::uint32_t mark = edge_session(session).pool;
  if (mark == 0) return &pools_[listener_of(session.record).pool];
  const auto found = std::ranges::find_if(pools_, [mark](const KnownPool& pool) { return pool.view->mark == mark; });
  return found == pools_.end() ? nullptr : &*found;
}

Candidate* EdgePolicy::counted_in(SessionView session) const {
  const EdgeSession& extension = edge_session(session);
  if (extension.process != facts_.process || extension.counted == 0) return nullptr;
  const KnownPool* pool = pool_of(session);
  return pool == nullptr ? nullptr : pool->candidates.at(session.record.origin).get();
}

// What was connected to, as the operator knows it.
std::string EdgePolicy::origin_text(SessionView session) const {
  const SessionRecord& record = session.record;
  if (record.attempts == 0) return "none";
  if (record.origin_peer.is_ip()) return record.origin_peer.text();
  const KnownPool* pool = pool_of(session);
  // Another process numbered in another way.
  if (edge_session(session).process != facts_.process) return "unknown";
  if (pool == nullptr || record.origin >= pool->candidates.size() || !pool->candidates[record.origin]) return "unknown";
  return pool->candidates[record.origin]->address;
}

bool EdgePolicy::count_in_below_limit(SessionView session, std::uint32_t pool, Candidate& candidate) const {
  const std::uint32_t most = candidate.max_sessions.load(kRelaxed);
  if (const auto before = candidate.sessions.fetch_add(1, kRelaxed); most != 0 && before >= most) {
    candidate.sessions.fetch_sub(1, kRelaxed);
    return false;
  }
  note(session, pool, candidate);
  return true;
}

// Whatever the limit: the session is there.
void EdgePolicy::count_in(SessionView session, std::uint32_t pool, Candidate& candidate) const {
  candidate.sessions.fetch_add(1, kRelaxed);
  note(session, pool, candidate);
}

void EdgePolicy::note(SessionView session, std::uint32_t pool, const Candidate& candidate) const {
  edge_session(session) = {
      .process = facts_.process, .counted = 1, .pool = pool, .origin = candidate.origin_mark.load(kRelaxed)};
}

void EdgePolicy::release(SessionView session) const {
  Candidate* candidate = counted_in(session);
  if (candidate == nullptr) return;
  candidate->sessions.fetch_sub(1, kRelaxed);
  edge_session(session).counted = 0;
}

}  // namespace ravelin::redirector
