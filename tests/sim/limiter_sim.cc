// A listener's limits under connections of many sources, against a model that counts everything anew each time.

#include <algorithm>
#include <memory>

#include "relay/limiter.h"
#include "tests/sim/simulation.h"

namespace sim {
namespace {

using namespace ravelin;
using relay::AtLimit;
using relay::Limit;
using relay::Limiter;
using relay::ListenerLimits;
using sys::SocketAddress;

constexpr int kSteps = 300;

struct Session {
  SocketAddress peer;
  std::uint32_t source;
};

AtLimit any_action(Chance& chance) {
  return std::vector{AtLimit::reset, AtLimit::close, AtLimit::leave_in_backlog}[chance.below(3)];
}

ListenerLimits draw_limits(Chance& chance) {
  const auto number = [&](std::uint64_t most) { return static_cast<std::uint32_t>(chance.between(1, most)); };
  ListenerLimits limits;
  if (chance.percent(60)) limits.sessions = {.most = number(20), .action = any_action(chance)};
  if (chance.percent(60)) {
    limits.rate = {.a_second = number(50), .burst = chance.percent(50) ? number(10) : 0, .action = any_action(chance)};
  }
  if (chance.percent(60)) limits.source.sessions = {.most = number(4)};
  if (chance.percent(60)) limits.source.rate = {.a_second = number(10), .burst = chance.percent(50) ? number(5) : 0};
  limits.source.ipv4_prefix = chance.percent(50) ? 32 : 24;
  limits.source.table = number(6);
  return limits;
}

SocketAddress draw_peer(Chance& chance) {
  return SocketAddress::ipv4(
      {192, 0, static_cast<std::uint8_t>(chance.below(3)), static_cast<std::uint8_t>(chance.below(4))},
      static_cast<std::uint16_t>(chance.between(1024, 65535)));
}

class Model {
 public:
  Model(Chance& chance, const ListenerLimits& limits)
      : chance_(chance), limits_(limits), limiter_(std::make_unique<Limiter>(limits, chance.below(1U << 30))) {}

  void step() {
    now_ += static_cast<std::int64_t>(chance_.percent(20) ? chance_.below(3000) : chance_.below(60));
    if (chance_.percent(55)) {
      connect();
    } else if (!sessions_.empty()) {
      end(chance_.below(sessions_.size()));
    }
    if (chance_.percent(1)) take_over();
    check();
  }

  void finish() {
    while (!sessions_.empty()) end(sessions_.size() - 1);
    require(limiter_->sessions() == 0, "{} sessions are left when all have ended", limiter_->sessions());
  }

 private:
  void connect() {
    if (const auto hold = limiter_->hold(now_)) return check_hold(*hold);
    const SocketAddress peer = draw_peer(chance_);
    const auto decision = limiter_->admit(peer, now_);
    if (decision.limit != Limit::none) return check_refusal(decision);
    sessions_.push_back({peer, decision.source});
    accepted_.push_back(now_);
    if (peer.is_ip()) check_source(decision.source);
  }

  void end(std::size_t which) {
    limiter_->ended(sessions_[which].peer, sessions_[which].source);
    sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  // Another process goes on with the sessions: its limiter knows nothing but them.
  void take_over() {
    limiter_ = std::make_unique<Limiter>(limits_, chance_.below(1U << 30));
    for (Session& session : sessions_) session.source = limiter_->adopt(session.peer);
    accepted_.clear();  // the new one has its burst
  }

  void check_hold(const Limiter::Hold& hold) {
    if (!hold.for_ms) {
      return require(sessions_.size() >= limits_.sessions.most, "held at {} sessions of {}", sessions_.size(),
                     limits_.sessions.most);
    }
    require(*hold.for_ms > 0 && *hold.for_ms <= 1000, "held for {} ms by {} a second", *hold.for_ms,
            limits_.rate.a_second);
    now_ += *hold.for_ms;
    const auto again = limiter_->hold(now_);
    require(!again || !again->for_ms, "held by its rate when the time that it named is over");
  }

  void check_refusal(const Limiter::Decision& decision) const {
    const auto of_source = std::ranges::count(sessions_, decision.source, &Session::source);
    switch (decision.limit) {
      case Limit::listener_sessions:
        return require(sessions_.size() >= limits_.sessions.most, "refused at {} sessions of {}", sessions_.size(),
                       limits_.sessions.most);
      case Limit::source_sessions:
        return require(decision.source == 0, "a refused one names source {} of {} sessions", decision.source,
                       of_source);
      case Limit::listener_rate:
        return require(limits_.rate.a_second != 0, "refused by a rate that there is not");
      case Limit::source_rate:
        return require(limits_.source.rate.a_second != 0, "refused by a source's rate that there is not");
      default:
        require(false, "refused at limit {}", name(decision.limit));
    }
  }

  void check() const {
    require(limiter_->sessions() == sessions_.size(), "it counts {} of {} sessions", limiter_->sessions(),
            sessions_.size());
    if (limits_.sessions.most != 0) {
      require(sessions_.size() <= limits_.sessions.most, "{} sessions of {}", sessions_.size(), limits_.sessions.most);
    }
    require(limiter_->sources() <= limits_.source.table, "{} sources in a table of {}", limiter_->sources(),
            limits_.source.table);
    check_rate();
  }

  // When one is admitted: those that shared a place for want of another one, and have one of their own after a
  // take-over, may be more.
  void check_source(std::uint32_t source) const {
    const auto together = std::ranges::count(sessions_, source, &Session::source);
    require(limits_.source.sessions.most == 0 || together <= limits_.source.sessions.most,
            "{} sessions of one source, of {}", together, limits_.source.sessions.most);
  }

  // In no stretch of time more than the rate and one burst.
  void check_rate() const {
    if (limits_.rate.a_second == 0 || accepted_.empty()) return;
    const std::int64_t last = accepted_.back();
    for (std::size_t i = 0; i < accepted_.size(); ++i) {
      const auto count = static_cast<std::int64_t>(accepted_.size() - i);
      const std::int64_t allowed =
          limits_.rate.most_at_once() + (last - accepted_[i]) * limits_.rate.a_second / 1000 + 1;
      require(count <= allowed, "{} accepted in {} ms at {} a second", count, last - accepted_[i],
              limits_.rate.a_second);
    }
  }

  Chance& chance_;
  const ListenerLimits limits_;
  std::unique_ptr<Limiter> limiter_;
  std::vector<Session> sessions_;
  std::vector<std::int64_t> accepted_;
  std::int64_t now_ = 1;
};

}  // namespace

void limiter(Chance& chance) {
  Model model(chance, draw_limits(chance));
  for (int step = 0; step < kSteps; ++step) model.step();
  model.finish();
}

}  // namespace sim
