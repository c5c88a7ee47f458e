#include "relay/limiter.h"

#include <array>

#include "relay/counters.h"

namespace ravelin::relay {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Limit::kCount)> kLimitNames{
    "none", "max_sessions", "listener_sessions", "listener_rate", "source_sessions", "source_rate", "origin_sessions"};
static_assert(kLimitNames.back() == "origin_sessions");
static_assert(kLimitReached + static_cast<unsigned>(Limit::kCount) <= kSourcesWithoutPlace);

}  // namespace

std::string_view name(Limit limit) {
  return kLimitNames.at(static_cast<std::size_t>(limit));
}

Limiter::Limiter(const ListenerLimits& limits, std::uint64_t seed)
    : limits_(limits),
      bucket_(limits.rate),
      sources_(limits.source.any() ? std::make_unique<SourceTable>(limits_.source, seed) : nullptr) {}

std::optional<Limiter::Hold> Limiter::hold(std::int64_t now_ms) {
  if (limits_.sessions.action == AtLimit::leave_in_backlog && !has_room())
    return Hold{.limit = Limit::listener_sessions};
  if (limits_.rate.a_second == 0 || limits_.rate.action != AtLimit::leave_in_backlog) return std::nullopt;
  if (bucket_.has_one(limits_.rate, now_ms)) return std::nullopt;
  return Hold{.limit = Limit::listener_rate, .for_ms = bucket_.wait_ms(limits_.rate)};
}

// What is refused takes no token, or a client that is refused for one limit would be kept out by the next.
Limiter::Decision Limiter::admit(const sys::SocketAddress& peer, std::int64_t now_ms) {
  if (!has_room()) return {.limit = Limit::listener_sessions, .action = limits_.sessions.action};
  const bool has_rate = limits_.rate.a_second != 0;
  if (has_rate && !bucket_.has_one(limits_.rate, now_ms)) {
    return {.limit = Limit::listener_rate, .action = limits_.rate.action};
  }
  Decision admitted;
  if (counts_source(peer)) {
    const SourceLimits& limits = limits_.source;
    admitted.source = sources_->place_of(peer);
    admitted.shared = admitted.source == SourceTable::kShared;
    SourceTable::Place& place = sources_->at(admitted.source);
    if (limits.sessions.most != 0 && place.sessions.load() >= limits.sessions.most) {
      return {.limit = Limit::source_sessions, .action = limits.sessions.action, .shared = admitted.shared};
    }
    if (limits.rate.a_second != 0) {
      if (!place.bucket.has_one(limits.rate, now_ms)) {
        return {.limit = Limit::source_rate, .action = limits.rate.action, .shared = admitted.shared};
      }
      place.bucket.take();
    }
    place.sessions.fetch_add(1);
  }
  if (has_rate) bucket_.take();
  sessions_.fetch_add(1);
  return admitted;
}

std::uint32_t Limiter::adopt(const sys::SocketAddress& peer) {
  sessions_.fetch_add(1);
  if (!counts_source(peer)) return 0;
  const std::uint32_t source = sources_->place_of(peer);
  sources_->at(source).sessions.fetch_add(1);
  return source;
}

void Limiter::ended(const sys::SocketAddress& peer, std::uint32_t source) {
  sessions_.fetch_sub(1);
  if (counts_source(peer)) sources_->released(source);
}

}  // namespace ravelin::relay
