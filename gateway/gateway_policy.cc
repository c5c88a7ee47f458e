#include "gateway/gateway_policy.h"

#include "bridge/addresses.h"
#include "relay/session_log.h"

namespace ravelin::gateway {

using bridge::from_ppv2;
using bridge::to_ppv2;
using relay::Opening;
using relay::SessionRecord;
using relay::SessionView;

GatewayPolicy::GatewayPolicy(std::shared_ptr<const GatewayFacts> facts, ppv2::PeerMap& peers,
                             relay::CounterBlock& counters, sys::Log& log, Clock now)
    : facts_(std::move(facts)),
      peers_(peers),
      counters_(counters),
      log_(log),
      now_(std::move(now)),
      hop_(facts_->inner, facts_->inner_sources, peers) {}

void GatewayPolicy::replace(std::shared_ptr<const GatewayFacts> facts) {
  facts_ = std::move(facts);
}

const Door& GatewayPolicy::door_of(const SessionRecord& record) const {
  if (record.listener < facts_->doors.size()) return facts_->doors[record.listener];
  return removed_.at(record.listener - facts_->doors.size());
}

Opening GatewayPolicy::inspect(SessionView session, std::span<const std::byte> bytes, bool ended) {
  return look(session, bytes, ended ? ppv2::Moment::eof : ppv2::Moment::bytes);
}

Opening GatewayPolicy::on_silence(SessionView session, std::span<const std::byte> bytes) {
  return look(session, bytes, ppv2::Moment::timeout);
}

Opening GatewayPolicy::look(SessionView session, std::span<const std::byte> bytes, ppv2::Moment moment) {
  GatewaySession& kept = gateway_session(session);
  const Opening opening = door_of(session.record).open(kept, session.record.client, bytes, moment);
  if (opening.verdict == Opening::Verdict::proceed) {
    count_opening(kept, kept.header != 0 ? Opened::header : Opened::none);
  } else if (opening.verdict == Opening::Verdict::refuse) {
    count_opening(kept, Opened::refused);
  }
  return opening;
}

// At the moment of the decision, not at the session's end: an operator who wants to know whether every edge sends
// headers yet cannot wait for sessions that last a week.
void GatewayPolicy::count_opening(GatewaySession& kept, Opened outcome) {
  if (kept.counted != 0) return;  // a session that starts again from its client looks at the same bytes twice
  kept.counted = 1;
  const bool trusted = kept.trusted_source != 0;
  counters_.add(opened(outcome, kept.version, trusted));
  if (outcome == Opened::refused) counters_.add(refusal(kept.fault));
  if (outcome == Opened::none && trusted) counters_.add(kTrustedWithoutHeader);
}

std::optional<relay::Target> GatewayPolicy::next_target(SessionView session) {
  if (session.record.attempts > 0) return std::nullopt;
  return hop_.target();
}

sys::Result<void> GatewayPolicy::prepare(SessionView session, int fd, const relay::Target&) {
  auto guard = hop_.bind(fd, peer_of(session));
  if (!guard) return tl::unexpected(guard.error());
  gateway_session(session).inner = from_ppv2(guard->key());
  guards_.insert_or_assign(&session.record, std::move(*guard));
  return {};
}

void GatewayPolicy::attempt_failed(SessionView session, int) {
  guards_.erase(&session.record);
}

std::size_t GatewayPolicy::write_header(SessionView session, std::span<std::byte> out) {
  return write_inner_header(facts_->inner_header, session, out);
}

void GatewayPolicy::removed_listeners(const std::vector<std::string>& names) {
  for (const std::string& name : names) removed_.push_back({.name = name});
}

void GatewayPolicy::relaying(SessionView session) {
  if (guards_.contains(&session.record)) return;
  // Taken over from another process: its map is gone, the connection and all that is known of it are not.
  auto guard = peers_.put(to_ppv2(gateway_session(session).inner), peer_of(session));
  if (guard) {
    guards_.emplace(&session.record, std::move(guard));
  } else {
    log_.line(sys::LogLevel::error, "peer_unknown")
        .field("id", session.record.id.text())
        .field("inner", gateway_session(session).inner)
        .field("error", sys::Error{guard.error(), "cannot enter the peer again"}.text());
  }
}

// While the inner connection's port is still taken, so that the entry never speaks for another connection.
void GatewayPolicy::ending(SessionView session) {
  if (log_.enabled(relay::closing_level(session.record))) relay::measure_round_trips(session.record);
  guards_.erase(&session.record);
}

void GatewayPolicy::ended(SessionView session) {
  GatewaySession& kept = gateway_session(session);
  const bool empty = kept.payload == 0 && relay::is_silent(session.record);
  if (kept.fault == ppv2::Reason::none && !is_failure(session.record.reason)) {
    if (kept.header != 0) count_opening(kept, Opened::header);
    if (kept.is_senders_own()) {
      counters_.add(kLocal);
    } else if (empty) {
      counters_.add(kept.header != 0 ? kHeaderOnly : kSilent);
    }
    // A LOCAL header asks for silence, and only those who may speak for others are believed: a client that could hide
    // its sessions from the log would.
    if (empty || (kept.is_senders_own() && kept.trusted_source != 0)) return;
  }
  if (may_log(session.record, kept)) {
    log_end(session);
  } else {
    counters_.add(kLinesHeldBack);
  }
}

void GatewayPolicy::say_held_back() {
  refused_lines_.say_held_back(log_);
  failed_lines_.say_held_back(log_);
}

bool GatewayPolicy::may_log(const SessionRecord& record, const GatewaySession& kept) {
  if (kept.fault != ppv2::Reason::none) return refused_lines_.admit(log_, now_());
  return !is_failure(record.reason) || failed_lines_.admit(log_, now_());
}

void GatewayPolicy::log_end(SessionView session) {
  const SessionRecord& record = session.record;
  const GatewaySession& kept = gateway_session(session);
  auto line = log_.line(relay::closing_level(record), "session_closed");
  line.field("id", record.id.text())
      .field("listener", door_of(record).name)
      .field("client", record.client)
      .field("claimed", kept.has_claim() ? kept.claimed.text() : "")
      .field("measured", record.client)
      .field("claim_trusted", kept.claim_trusted != 0)
      .field("edge", kept.edge.view())
      .field("edge_session", printable(kept.edge_session.view()))
      .field("inner", kept.inner.family != AF_UNSPEC ? kept.inner.text() : "")
      .field("origin", facts_->inner.text());
  relay::add_session_fields(line, record);
  if (kept.fault == ppv2::Reason::none) return;
  line.field("header_error", ppv2::name(kept.fault)).field("header_offset", kept.fault_offset);
}

}  // namespace ravelin::gateway
