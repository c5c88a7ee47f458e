// A pool's origins come, go and fail while sessions of several loops are sent to them.

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "redirector/edge_policy.h"
#include "redirector/pool.h"
#include "sys/unique_fd.h"
#include "tests/sim/simulation.h"

namespace sim {
namespace {

using namespace ravelin;
using namespace ravelin::redirector;

constexpr int kSteps = 150;

std::int64_t now_ms = 1;

std::int64_t now() {
  return now_ms;
}

sys::Log& quiet_log() {
  static const sys::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  static sys::Log log(sys::LogFormat::json, sys::LogLevel::error, nowhere.get());
  return log;
}

struct Session {
  relay::SessionRecord record;
  EdgeSession extension;
  std::size_t loop = 0;
  std::string address;  // that it counts at; empty: nowhere
  std::string origin;
  std::set<std::string> tried;
  bool relays = false;

  [[nodiscard]] relay::SessionView view() { return {record, std::as_writable_bytes(std::span(&extension, 1))}; }
};

class Model {
 public:
  explicit Model(Chance& chance)
      : chance_(chance),
        pool_(draw_settings(), [this] { return 0.0 + 0.001 * static_cast<double>(chance_.below(1000)); }) {
    facts_.listeners.push_back({.name = "front"});
    for (std::size_t loop = 1 + chance_.below(3); loop > 0; --loop) {
      counters_.push_back(std::make_unique<relay::CounterBlock>());
      loops_.push_back(
          std::make_unique<EdgePolicy>(facts_, quiet_log(), *counters_.back(), EdgePolicy::Views{pool_.view()}, now));
    }
  }

  void step() {
    now_ms += static_cast<std::int64_t>(chance_.percent(10) ? chance_.below(20'000) : chance_.below(200));
    switch (chance_.below(8)) {
      case 0:
        resolve();
        break;
      case 1:
        if (chance_.percent(30)) reload();
        break;
      case 2:
      case 3:
        begin();
        break;
      case 4:
      case 5:
        go_on();
        break;
      default:
        if (!sessions_.empty() && chance_.percent(50)) end(chance_.below(sessions_.size()));
    }
    check();
  }

  void finish() {
    while (!sessions_.empty()) end(sessions_.size() - 1);
    check();
    for (std::size_t loop = 0; loop < loops_.size(); ++loop) loops_[loop]->replace(0, pool_.view());
  }

 private:
  PoolSettings draw_settings() {
    PoolSettings settings{.name = "main", .connect_attempts = static_cast<unsigned>(chance_.between(1, 5))};
    settings.balancing =
        std::array{Balancing::round_robin, Balancing::least_sessions, Balancing::first_available}[chance_.below(3)];
    if (chance_.percent(50)) settings.close_removed_after = sys::Duration(chance_.below(2) * 5000);
    std::set<std::string> names;
    for (std::uint64_t left = chance_.between(1, 5); left > 0; --left) {
      names.insert(chance_.percent(30) ? fmt::format("name{}:443", chance_.below(3))
                                       : fmt::format("192.0.2.{}:443", chance_.below(6)));
    }
    for (const std::string& name : names) {
      const auto most = static_cast<std::uint32_t>(chance_.percent(30) ? chance_.between(1, 3) : 0);
      settings.origins.push_back({.address = *sys::Endpoint::parse(name), .max_sessions = most});
    }
    configured_ = names;
    close_removed_after_ = settings.close_removed_after;
    return settings;
  }

  // An address that comes back is another candidate, and may be tried again.
  void publish() {
    for (const auto& loop : loops_) loop->replace(0, pool_.view());
    for (Session& session : sessions_) session.tried.clear();
  }

  void resolve() {
    const std::size_t origin = chance_.below(pool_.origins().size());
    if (!pool_.origins()[origin].is_name) return;
    if (chance_.percent(30)) return (void)pool_.resolved(origin, tl::unexpected(sys::Error{EAGAIN, "no answer"}));
    std::vector<sys::SocketAddress> answer;
    for (std::uint64_t left = chance_.below(4); left > 0; --left) {
      answer.push_back(sys::SocketAddress::ipv4({192, 0, 2, static_cast<std::uint8_t>(chance_.below(8))}, 443));
    }
    if (pool_.resolved(origin, answer).changed()) publish();
  }

  void reload() {
    pool_.apply(draw_settings());
    publish();
    for (Session& session : sessions_) {
      if (!session.relays) continue;
      loops_[session.loop]->review(session.view());
      check_end(session);
    }
  }

  void begin() {
    Session session{.loop = chance_.below(loops_.size())};
    session.record.phase = relay::Phase::connecting;
    if (try_next(session)) sessions_.push_back(std::move(session));
  }

  // False: nobody could be tried any more, the session is over.
  bool try_next(Session& session) {
    const auto target = loops_[session.loop]->next_target(session.view());
    if (!target) {
      (void)loops_[session.loop]->end_without_target(session.view());
      loops_[session.loop]->ended(session.view());
      return false;
    }
    session.record.origin_peer =
        sys::SocketAddress::from(reinterpret_cast<const sockaddr*>(&target->address), target->length);
    ++session.record.attempts;
    session.address = session.record.origin_peer.text();
    require(session.tried.insert(session.address).second, "{} is tried twice", session.address);
    require(session.tried.size() <= 5, "{} attempts", session.tried.size());
    const Candidate& candidate = candidate_of(session.address);
    const auto most = candidate.max_sessions.load();
    require(most == 0 || candidate.sessions.load() <= most, "{} has {} sessions of {}", session.address,
            candidate.sessions.load(), most);
    session.origin = candidate.origin;
    return true;
  }

  void go_on() {
    const auto trying = std::ranges::find(sessions_, false, &Session::relays);
    if (trying == sessions_.end()) return;
    EdgePolicy& policy = *loops_[trying->loop];
    if (chance_.percent(40)) {
      policy.attempt_failed(trying->view(), chance_.percent(80) ? ECONNREFUSED : EADDRNOTAVAIL);
      trying->address.clear();
      if (!try_next(*trying)) sessions_.erase(trying);
      return;
    }
    std::array<std::byte, relay::kMaxHeader> header;
    (void)policy.write_header(trying->view(), header);
    trying->record.phase = relay::Phase::relaying;
    trying->relays = true;
    policy.relaying(trying->view());
    check_end(*trying);
  }

  void end(std::size_t which) {
    loops_[sessions_[which].loop]->ended(sessions_[which].view());
    sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  [[nodiscard]] const Candidate& candidate_of(const std::string& address) const {
    const auto& candidates = pool_.view()->candidates;
    const auto found = std::ranges::find_if(candidates, [&](const auto& each) { return each->address == address; });
    require(found != candidates.end(), "{} is chosen and not in the view", address);
    return **found;
  }

  void check() {
    std::map<std::string, std::uint32_t> expected;
    for (const Session& session : sessions_) {
      if (!session.address.empty()) ++expected[session.address];
    }
    std::set<std::uint16_t> indexes;
    for (const auto& candidate : pool_.view()->candidates) {
      require(candidate->sessions.load() == expected[candidate->address], "{} counts {} sessions of {}",
              candidate->address, candidate->sessions.load(), expected[candidate->address]);
      require(indexes.insert(candidate->index).second, "two candidates have the index {}", candidate->index);
    }
  }

  // Ends are settled at a reload and when a session begins to relay; what names resolve to later changes nothing.
  void check_end(const Session& session) const {
    const bool offered = configured_.contains(session.origin) ||
                         std::ranges::any_of(pool_.view()->candidates,
                                             [&](const auto& each) { return each->address == session.address; });
    const bool ends = session.record.end_by_ms != 0;
    require(ends == (!offered && close_removed_after_), "a session of {} at {} {} although the settings {} it",
            session.origin, session.address, ends ? "ends" : "goes on", offered ? "have" : "have lost");
  }

  Chance& chance_;
  std::set<std::string> configured_;
  std::optional<sys::Duration> close_removed_after_;
  Pool pool_;
  EdgeFacts facts_;
  std::vector<std::unique_ptr<relay::CounterBlock>> counters_;
  std::vector<std::unique_ptr<EdgePolicy>> loops_;
  std::vector<Session> sessions_;
};

}  // namespace

void pool(Chance& chance) {
  now_ms = 1;
  Model model(chance);
  for (int step = 0; step < kSteps; ++step) model.step();
  model.finish();
}

}  // namespace sim
