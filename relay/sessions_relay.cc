// A session while its bytes move. What each combination of ended, pending and failed directions leads to stands in
// docs/stream-truth.md.

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "relay/clock.h"
#include "relay/sessions.h"
#include "relay/socket.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

// An errno that says the other end answered with a reset, as against one that says it does not answer at all.
bool is_reset(int error) {
  return error == ECONNRESET || error == EPIPE || error == ECONNREFUSED || error == ENOTCONN;
}

EndSide end_side(Side side) {
  return side == Side::client ? EndSide::client : EndSide::origin;
}

}  // namespace

void Sessions::relay_event(Place place, Side side, std::uint32_t flags) {
  SessionRecord& record = slots_.record(place);
  const std::uint64_t before = record.up.moved + record.down.moved;
  if ((flags & EPOLLERR) != 0) {
    // Reading it clears it in the socket. The bytes that came before it can still be read there.
    const int error = sys::get_option<int>(record.fd(side), SOL_SOCKET, SO_ERROR).value_or(EBADF);
    if (error != 0) record.error(side) = error;
    const FlowRecord& outgoing = record.flow_from(side);
    if (record.error(side) != 0 && outgoing.eof != 0 && outgoing.pending == 0)
      return fail(place, side, record.error(side));
  }
  constexpr std::uint32_t kReadable = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((flags & kReadable) != 0 && run_flow(place, side)) return;
  // Edge-triggered readiness reports "writable" with every event; only a flow that waits for it has use for it.
  const bool wanted = record.flow_from(other(side)).blocked != 0;
  if (wanted && run_flow(place, other(side))) return;
  if (before == record.up.moved + record.down.moved && (flags & (EPOLLIN | EPOLLRDHUP)) == 0 && !wanted) {
    counters_.add(kWakeupsWithoutProgress);
  }
}

// True: the session has ended.
bool Sessions::run_flow(Place place, Side from) {
  SessionRecord& record = slots_.record(place);
  const PumpResult result = pump_.run(flow_from(record, from));
  if (result.short_of_pipes) counters_.add(kPipesShort);
  if (result.progress) touch(place);
  switch (result.state) {
    case PumpResult::State::waiting:
      return false;
    case PumpResult::State::more:
      ready_.push_back(token(place, Side::client));
      return false;
    case PumpResult::State::finished:
      if (record.error(from) != 0) {
        fail(place, from, record.error(from));
        return true;
      }
      // The side that finished first is the one that ended the session.
      if (record.end_side == EndSide::none) record.end_side = end_side(from);
      if (record.up.fin_sent == 0 || record.down.fin_sent == 0) return false;
      end(place, record.end_side, EndKind::fin, Reason::finished);
      return true;
    case PumpResult::State::source_failed:
      fail(place, from, result.error);
      return true;
    case PumpResult::State::destination_failed:
      fail(place, other(from), result.error);
      return true;
  }
  return false;
}

// `side` has failed. What it said before still goes to the other side, as far as that takes it at once.
void Sessions::fail(Place place, Side side, int error) {
  SessionRecord& record = slots_.record(place);
  if (record.error(side) == 0) record.error(side) = error;
  if (record.flow_from(side).fin_sent == 0) (void)pump_.run(flow_from(record, side));
  end(place, end_side(side), is_reset(error) ? EndKind::reset : EndKind::timeout,
      is_reset(error) ? Reason::peer_reset : Reason::peer_unreachable);
}

// Something happened: the clock that waits for nothing to happen starts anew.
void Sessions::touch(Place place) {
  SessionRecord& record = slots_.record(place);
  record.last_activity_ms = monotonic_ms();
  if (record.settled == 0) return;
  const Duration timeout = silence_allowed(record);
  if (timeout.count() > 0 || deadlines_.is_set(place)) deadlines_.set(place, timeout, record.last_activity_ms);
}

// How long nothing may happen; zero: for ever.
Duration Sessions::silence_allowed(const SessionRecord& record) const {
  const Timeouts& timeouts = options(record).timeouts;
  return record.up.fin_sent != 0 || record.down.fin_sent != 0 ? timeouts.half_closed : timeouts.idle;
}

// Most sessions of a flood live for less than this, and are not to pay for what only long ones need.
void Sessions::settle_later(Place place) {
  constexpr Duration kYouth{std::chrono::seconds(1)};
  const Timeouts& timeouts = options(slots_.record(place)).timeouts;
  Duration delay = kYouth;
  for (const Duration timeout : {timeouts.idle, timeouts.half_closed}) {
    if (timeout.count() > 0) delay = std::min(delay, timeout);
  }
  deadlines_.set(place, delay, monotonic_ms());
}

void Sessions::settle(Place place) {
  SessionRecord& record = slots_.record(place);
  record.settled = 1;
  guard_against_silence(options(record).origin, record.origin_fd);
  deadlines_.set(place, silence_allowed(record), monotonic_ms());
}

// One turn for each session that had more to do. Those that still have come again in the next turn of the loop, after
// the events that have arrived meanwhile.
void Sessions::run_ready() {
  if (ready_.empty() || frozen_) return;
  // Either direction asks for the turn, and so may an event in between.
  std::vector<std::uint64_t> turns = std::exchange(ready_, {});
  std::ranges::sort(turns);
  turns.erase(std::ranges::unique(turns).begin(), turns.end());
  for (const std::uint64_t ready : turns) {
    const auto place = static_cast<Place>((ready & 0xffffffff) >> 1);
    const SessionRecord& record = slots_.record(place);
    if (record.generation != ready >> 32 || record.phase != Phase::relaying) continue;
    counters_.work_on(session_mark(slots_.slot_of(place), record.generation));
    if (run_flow(place, Side::client)) continue;
    (void)run_flow(place, Side::origin);
  }
  counters_.work_on(0);
}

}  // namespace ravelin::relay
