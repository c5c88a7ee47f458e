#include "relay/sessions.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "relay/clock.h"
#include "relay/recovery.h"
#include "relay/socket.h"

namespace ravelin::relay {

Sessions::Sessions(sys::Loop& loop, const SessionTable& table, std::uint32_t index, const EngineSettings& settings,
                   SessionPolicy& policy, const Limiters& limiters, std::function<void()> on_ended)
    : table_(table),
      settings_(settings),
      policy_(policy),
      limiters_(limiters),
      counters_(table.counters(index)),
      buffer_(table.buffer(index)),
      on_ended_(std::move(on_ended)),
      slots_(table, index),
      pipes_(table, index, table.shape().loops, settings.pipe_size.bytes),
      pump_(pipes_, buffer_),
      deadlines_(slots_.count()),
      random_(std::random_device{}()),
      readiness_(
          loop, [this](Readiness::Event event) { on_event(event); }, [this] { counters_.work_on(0); }) {}

void Sessions::turn() {
  const std::int64_t now = monotonic_ms();
  run_deadlines(now);
  run_endings(now);
  readiness_.wait(patience(now));
  run_ready();
}

std::uint64_t Sessions::token(Place place, Side side) const {
  return std::uint64_t{slots_.record(place).generation} << 32 | place << 1 | (side == Side::origin ? 1U : 0U);
}

const ListenerOptions& Sessions::options(const SessionRecord& record) const {
  return settings_.listeners[record.listener];
}

bool Sessions::is_removed(const SessionRecord& record) const {
  return record.listener >= settings_.listeners.size() - settings_.removed_listeners;
}

void Sessions::begin(Accepted client) {
  const auto place = slots_.take();
  if (!place) {  // the acceptor counts sessions and stops before this
    reset(client.fd.get());
    if (Limiter* limiter = limiter_of(limiters_, client.listener)) limiter->ended(client.peer, client.source);
    on_ended_();  // it counts in the loop's load already
    return;
  }
  SessionRecord& record = slots_.record(*place);
  const std::uint32_t generation = record.generation + 1;
  record = SessionRecord{.generation = generation};
  const auto extension = table_.extension(slots_.slot_of(*place));
  std::ranges::fill(extension, std::byte{0});
  record.listener = client.listener;
  record.numbering = table_.control_record().numbering;
  record.accepted_wall_us = wall_us();
  record.accepted_mono_ms = record.last_activity_ms = monotonic_ms();
  record.id = new_id(record.accepted_wall_us);
  record.client = client.peer;
  record.local = client.local;
  record.source = client.source;
  record.client_fd = client.fd.release();
  record.phase = Phase::waiting;
  counters_.add(kAccepted);
  if (draining_.reason != Reason::none) end_with_the_drain(*place);

  const ListenerOptions& listener = options(record);
  if (auto added = readiness_.add(record.client_fd, token(*place, Side::client)); !added) {
    end(*place, EndSide::self, EndKind::reset, Reason::internal);
    return;
  }
  if (!listener.wait_for_client) {
    connect(*place);
    return;
  }
  deadlines_.set(*place, listener.timeouts.first_byte, record.accepted_mono_ms);
}

// An identifier is unique without any agreement between edges, and sorts by time.
SessionId Sessions::new_id(std::int64_t wall_us) {
  SessionId id;
  const auto milliseconds = static_cast<std::uint64_t>(wall_us / 1000);
  const std::array<std::uint64_t, 2> words{milliseconds << 16 | (random_() & 0xffff), random_()};
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<std::uint8_t>(words[i / 8] >> (56 - 8 * (i % 8)));
  }
  return id;
}

void Sessions::on_event(Readiness::Event event) {
  if (frozen_) return;
  const auto place = static_cast<Place>((event.token & 0xffffffff) >> 1);
  const Side side = (event.token & 1) != 0 ? Side::origin : Side::client;
  SessionRecord& record = slots_.record(place);
  if (record.generation != event.token >> 32) return;  // fetched before that session ended
  counters_.work_on(session_mark(slots_.slot_of(place), record.generation));
  // Told once, and perhaps long before the mark or the end is reached.
  if ((event.flags & EPOLLPRI) != 0) record.flow_from(side).urgent = 1;
  if ((event.flags & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) record.flow_from(side).ending = 1;
  switch (record.phase) {
    case Phase::waiting:
      return look(place, event.flags);
    case Phase::connecting:
      return side == Side::origin ? origin_event_while_connecting(place, event.flags)
                                  : client_event_while_connecting(place, event.flags);
    case Phase::relaying:
      return relay_event(place, side, event.flags);
    case Phase::free:
    case Phase::closing:
      return;
  }
}

int Sessions::patience(std::int64_t now) const {
  if (!ready_.empty()) return 0;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  const std::int64_t next =
      std::min({deadlines_.next().value_or(kNever), endings_.next().value_or(kNever), drain_.next().value_or(kNever)});
  if (next == kNever) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(next - now, 0, std::numeric_limits<int>::max()));
}

void Sessions::run_deadlines(std::int64_t now) {
  if (frozen_) return;
  while (const auto place = deadlines_.take_due(now)) deadline_passed(*place);
}

void Sessions::deadline_passed(Place place) {
  SessionRecord& record = slots_.record(place);
  switch (record.phase) {
    case Phase::waiting: {
      const ssize_t seen = peek(record.client_fd, buffer_.first(kMaxPeek));
      const auto bytes = std::span(buffer_).first(static_cast<std::size_t>(std::max<ssize_t>(0, seen)));
      return act_on(place, policy_.on_silence(slots_.view(place), bytes), bytes.size());
    }
    case Phase::connecting:
      give_up_attempt(place, ETIMEDOUT);
      return connect(place);
    case Phase::relaying:
      if (record.settled == 0) return settle(place);
      return end(place, EndSide::self, EndKind::timeout,
                 record.up.fin_sent != 0 || record.down.fin_sent != 0 ? Reason::half_closed : Reason::idle);
    case Phase::free:
    case Phase::closing:
      return;
  }
}

// The order matters while another process holds duplicates of the sockets: first everything that is read from them,
// then what others know of them, then the signal to the peers, then no more events, and close(2), which is no signal,
// last.
void Sessions::end(Place place, EndSide side, EndKind kind, Reason reason) {
  SessionRecord& record = slots_.record(place);
  const SessionView view = slots_.view(place);
  record.end_side = side;
  record.end_kind = kind;
  record.reason = reason;
  record.last_activity_ms = monotonic_ms();
  policy_.ending(view);
  record.phase = Phase::closing;
  const auto signal = kind == EndKind::fin ? finish_sending : reset;
  const bool finished = kind == EndKind::fin && record.up.fin_sent != 0 && record.down.fin_sent != 0;
  // Both before either is closed: a socket without its session is nobody's, and only closed by whoever finds it.
  if (!finished) {
    signal(record.client_fd);
    if (record.origin_fd >= 0) signal(record.origin_fd);
  }
  drop_origin(record);
  readiness_.remove(record.client_fd);
  ::close(std::exchange(record.client_fd, -1));
  for (FlowRecord* flow : {&record.up, &record.down}) {
    if (flow->pipe != FlowRecord::kNoPipe) pipes_.give_back(std::exchange(flow->pipe, FlowRecord::kNoPipe));
  }
  deadlines_.clear(place);

  counters_.add(kSessionsEnded);
  counters_.add(kReasons + static_cast<unsigned>(reason));
  counters_.add(kBytesUp, record.up.moved);
  counters_.add(kBytesDown, record.down.moved);
  policy_.ended(view);
  if (Limiter* limiter = limiter_of(limiters_, record.listener)) limiter->ended(record.client, record.source);
  record.phase = Phase::free;
  slots_.give_back(place);
  on_ended_();
}

void Sessions::drop_origin(SessionRecord& record) {
  if (record.origin_fd < 0) return;
  readiness_.remove(record.origin_fd);
  ::close(std::exchange(record.origin_fd, -1));
}

void Sessions::end_all(Reason reason) {
  for (Place place = 0; place < slots_.unused_from(); ++place) {
    if (slots_.record(place).phase != Phase::free) end(place, EndSide::self, EndKind::reset, reason);
  }
}

void Sessions::relaying(Place place) {
  policy_.relaying(slots_.view(place));
  end_later(place);
}

void Sessions::end_later(Place place) {
  const SessionRecord& record = slots_.record(place);
  if (record.end_by_ms == 0) return;
  endings_.add({.due = record.end_by_ms, .place = place, .generation = record.generation});
}

void Sessions::review() {
  if (frozen_) return;
  for (Place place = 0; place < slots_.unused_from(); ++place) {
    SessionRecord& record = slots_.record(place);
    if (record.phase != Phase::relaying) continue;
    const std::int64_t before = record.end_by_ms;
    policy_.review(slots_.view(place));
    if (record.end_by_ms != before) end_later(place);
  }
}

void Sessions::end_evenly(std::int64_t from_ms, std::int64_t until_ms, Reason reason) {
  if (frozen_) return;
  draining_ = {.from_ms = from_ms, .until_ms = until_ms, .reason = reason};
  for (Place place = 0; place < slots_.unused_from(); ++place) {
    if (slots_.record(place).phase != Phase::free) end_with_the_drain(place);
  }
}

// The id's last eight bytes are random.
void Sessions::end_with_the_drain(Place place) {
  const SessionRecord& record = slots_.record(place);
  std::uint64_t draw = 0;
  for (std::size_t i = 8; i < 16; ++i) draw = draw << 8 | record.id.bytes[i];
  const double share = static_cast<double>(draw >> 11) * 0x1p-53;
  const auto after = static_cast<std::int64_t>(static_cast<double>(draining_.until_ms - draining_.from_ms) * share);
  drain_.add({.due = draining_.from_ms + after, .place = place, .generation = record.generation});
}

bool Sessions::kill(const std::string& id) {
  if (frozen_) return false;
  for (Place place = 0; place < slots_.unused_from(); ++place) {
    const SessionRecord& record = slots_.record(place);
    if (record.phase == Phase::free || record.id.text() != id) continue;
    end(place, EndSide::self, EndKind::reset, Reason::killed);
    return true;
  }
  return false;
}

void Sessions::run_endings(std::int64_t now) {
  if (frozen_) return;
  const auto is_still = [&](const Endings::Entry& entry) {
    const SessionRecord& record = slots_.record(entry.place);
    return record.generation == entry.generation && record.phase != Phase::free;
  };
  while (const auto entry = endings_.take_due(now)) {
    if (!is_still(*entry)) continue;
    const std::int64_t end_by = slots_.record(entry->place).end_by_ms;
    if (end_by == 0 || end_by > now) continue;  // the origin is back, or the time is another one
    end(entry->place, EndSide::self, EndKind::reset, Reason::origin_removed);
  }
  while (const auto entry = drain_.take_due(now)) {
    if (is_still(*entry)) end(entry->place, EndSide::self, EndKind::reset, draining_.reason);
  }
}

void Sessions::for_each(const std::function<void(const SessionView&)>& visit) const {
  for (Place place = 0; place < slots_.unused_from(); ++place) {
    if (slots_.record(place).phase != Phase::free) visit(slots_.view(place));
  }
}

std::uint32_t Sessions::adopt() {
  std::vector<bool> owned_pipes(table_.shape().pipes, false);
  slots_.adopt([&](Place place) {
    adopted_.push_back(place);
    SessionRecord& record = slots_.record(place);
    if (Limiter* limiter = limiter_of(limiters_, record.listener)) record.source = limiter->adopt(record.client);
    counters_.add(kResumedSessions);
    // All that others may ask about is there again before the first byte moves.
    if (slots_.record(place).phase == Phase::relaying) relaying(place);
    for (const FlowRecord* flow : {&slots_.record(place).up, &slots_.record(place).down}) {
      if (flow->pipe != FlowRecord::kNoPipe) owned_pipes[static_cast<std::size_t>(flow->pipe)] = true;
    }
  });
  pipes_.adopt(owned_pipes);
  return static_cast<std::uint32_t>(adopted_.size());
}

void Sessions::resume_adopted() {
  // First the one whose bytes lie in the buffer. Deadlines count from the accept and are to be set in the order in
  // which they run out.
  std::ranges::sort(adopted_, {}, [this](Place place) {
    const SessionRecord& record = slots_.record(place);
    return std::pair(!is_in_buffer(record), record.accepted_mono_ms);
  });
  for (const Place place : std::exchange(adopted_, {})) resume(place);
}

void Sessions::resume(Place place) {
  SessionRecord& record = slots_.record(place);
  if (record.phase == Phase::closing) return end(place, record.end_side, record.end_kind, record.reason);
  const Resumption resumption = take_stock(record, pipes_, buffer_);
  if (resumption.action == Resumption::Action::end) {
    end(place, EndSide::self, EndKind::reset, resumption.reason);
    return;
  }
  if (!readiness_.add(record.client_fd, token(place, Side::client))) {
    end(place, EndSide::self, EndKind::reset, Reason::internal);
    return;
  }
  const std::int64_t now = monotonic_ms();
  if (resumption.action != Resumption::Action::relay && is_removed(record)) {
    // Where it was to go stood in settings that are not there any more.
    end(place, EndSide::self, EndKind::reset, Reason::listener_removed);
    return;
  }
  if (resumption.action != Resumption::Action::relay) record.attempts = 0;  // whatever was tried, it starts again
  switch (resumption.action) {
    case Resumption::Action::wait:
      if (!options(record).wait_for_client) return connect(place);
      deadlines_.set(place, options(record).timeouts.first_byte, record.accepted_mono_ms);
      return;
    case Resumption::Action::connect:
      return connect(place);
    case Resumption::Action::relay:
      if (!readiness_.add(record.origin_fd, token(place, Side::origin))) {
        end(place, EndSide::self, EndKind::reset, Reason::internal);
        return;
      }
      pump_.consume(record.client_fd, resumption.consume_up);
      pump_.consume(record.origin_fd, resumption.consume_down);
      relaying(place);
      record.last_activity_ms = now;
      settle(place);
      ready_.push_back(token(place, Side::client));
      return;
    case Resumption::Action::end:
      return;
  }
}

}  // namespace ravelin::relay
