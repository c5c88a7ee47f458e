#include "relay/engine.h"

#include <sched.h>

#include <algorithm>
#include <random>
#include <utility>

#include "relay/acceptor.h"
#include "relay/keeper_link.h"
#include "relay/relay_loop.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

// Descriptors that are not a session's: standard streams, loops, listeners, admin connections, the resolver, a margin.
constexpr std::size_t kReservedDescriptors = 192;

unsigned processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

// Where nobody named a limit: containers often have a descriptor limit of 2^30, and a slot costs private memory.
constexpr std::uint32_t kMostByDefault = 1U << 20;
constexpr std::size_t kMostSessions = 4'000'000;

// A session needs two descriptors, a pipe of the pool two more.
std::uint32_t sessions_within(std::size_t descriptors, std::uint32_t pipes) {
  const std::size_t kept = kReservedDescriptors + 2 * std::size_t{pipes};
  return descriptors < kept + 2
             ? 1
             : static_cast<std::uint32_t>(std::min<std::size_t>((descriptors - kept) / 2, kMostSessions));
}

}  // namespace

Engine::Engine(sys::Loop& control, sys::Log& log, EngineSettings settings, PolicyFactory make_policy,
               KeeperLink* keeper)
    : control_(control),
      log_(log),
      settings_(std::move(settings)),
      make_policy_(std::move(make_policy)),
      keeper_(keeper),
      listeners_(log, settings_) {
  if (settings_.loops == 0) settings_.loops = processors();
  settings_.max_pipes = std::max(settings_.max_pipes, settings_.loops * 2);  // one each way, at the least
  const std::uint32_t possible = sessions_within(sys::raise_descriptor_limit(), settings_.max_pipes);
  if (settings_.max_sessions > possible) {
    log_.line(sys::LogLevel::warning, "max_sessions_lowered")
        .field("configured", settings_.max_sessions)
        .field("possible", possible)
        .field("hint", "raise the descriptor limit (LimitNOFILE=, ulimit -Hn)");
  }
  const std::uint32_t wanted = settings_.max_sessions == 0 ? kMostByDefault : settings_.max_sessions;
  settings_.max_sessions = std::min(wanted, possible);
}

Engine::~Engine() {
  close();
}

// While the loops' threads run they look at the acceptor and post to this loop; the acceptor's handles are the first
// loop's.
void Engine::close() {
  for (const auto& loop : loops_) loop->stop();
  acceptor_.reset();
  loops_.clear();
  listeners_.close();
  ahead_.reset();
  ended_.reset();
  mail_.reset();
}

sys::Result<void> Engine::start(std::vector<Inheritance::Listener> passed) {
  if (auto created = create_table(); !created) return created;
  name_listeners();
  return start_loops(false, std::move(passed));
}

sys::Result<void> Engine::create_table() {
  auto table = SessionTable::create({.loops = settings_.loops,
                                     .sessions = settings_.max_sessions + settings_.loops * kSpareSlots,
                                     .pipes = settings_.max_pipes,
                                     .extension_bytes = static_cast<std::uint32_t>(settings_.extension_bytes)});
  if (!table) return tl::unexpected(table.error());
  table_ = std::move(*table);
  return keeper_ != nullptr ? keeper_->hold_table(table_) : sys::Result<void>();
}

// The table's size was settled by the process that made it.
sys::Result<void> Engine::resume(SessionTable table) {
  if (table.shape().extension_bytes != settings_.extension_bytes) {
    return sys::fail(0, "the session table belongs to another program");
  }
  table_ = std::move(table);
  settings_.loops = table_.shape().loops;
  return start_loops(true, {});
}

void Engine::accept(std::vector<sys::UniqueFd> newcomers) {
  addresses_ = listeners_.addresses();
  listeners_.announce();
  const auto admitted = std::make_shared<std::vector<sys::UniqueFd>>(std::move(newcomers));
  loops_.front()->post([this, admitted](Sessions&, SessionPolicy&) {
    acceptor_->admit(std::move(*admitted));
    acceptor_->start();
  });
}

sys::Result<void> Engine::make_loops() {
  mail_ = std::make_unique<sys::Mailbox>(control_);
  limiters_.clear();
  std::random_device random;
  for (const ListenerOptions& listener : settings_.listeners) {
    const std::uint64_t seed = std::uint64_t{random()} << 32 | random();
    limiters_.push_back(listener.limits.any() ? std::make_unique<Limiter>(listener.limits, seed) : nullptr);
  }
  ended_ = std::make_unique<sys::Async>(control_, [this] {
    if (drained_ && sessions() == 0) std::exchange(drained_, nullptr)();
  });
  const auto on_ended = [this] {
    if (draining_.load()) ended_->send();
    if (acceptor_->is_waiting_for_an_end()) acceptor_->session_ended();
  };
  for (unsigned i = 0; i < settings_.loops; ++i) {
    KeeperChannel channel;
    if (keeper_ != nullptr) {
      auto opened = keeper_->open_loop(i);
      if (!opened) return tl::unexpected(opened.error());
      channel = std::move(*opened);
    }
    loops_.push_back(
        std::make_unique<RelayLoop>(table_, i, settings_, make_policy_(i), limiters_, on_ended, std::move(channel)));
  }
  acceptor_ = std::make_unique<Acceptor>(log_, settings_, table_.control_counters(), limiters_, loops_, listeners_);
  return {};
}

sys::Result<void> Engine::start_loops(bool resumed, std::vector<Inheritance::Listener> passed) {
  auto opened = make_loops();
  if (opened) opened = listeners_.open(std::move(passed), Listeners::Opening::at_start);
  if (!opened) {
    close();
    return opened;
  }
  for (const auto& loop : loops_) {
    if (resumed) loop->adopt();
    loop->start();
  }
  accept({});
  return {};
}

// No session is the last one before the acceptor has stopped.
void Engine::drain(std::function<void()> done) {
  loops_.front()->post([this, done = std::move(done)](Sessions&, SessionPolicy&) {
    acceptor_->stop();
    mail_->post([this, done] {
      listeners_.close();
      if (keeper_ != nullptr) keeper_->listeners_closed();
      drained_ = done;
      draining_.store(true);
      ended_->send();
    });
  });
}

// By way of the first loop, as in freeze(): a session that it has handed over is ended too.
void Engine::abort_all(Reason reason) {
  loops_.front()->post([this, reason](Sessions&, SessionPolicy&) {
    for (const auto& loop : loops_) {
      loop->post([reason](Sessions& sessions, SessionPolicy&) { sessions.end_all(reason); });
    }
  });
}

void Engine::end_evenly(std::int64_t from_ms, std::int64_t until_ms, Reason reason) {
  for (const auto& loop : loops_) {
    loop->post([=](Sessions& sessions, SessionPolicy&) { sessions.end_evenly(from_ms, until_ms, reason); });
  }
}

void Engine::kill(const std::string& id, std::function<void(bool)> done) {
  const auto found = std::make_shared<std::atomic<bool>>(false);
  const auto left = std::make_shared<std::atomic<std::size_t>>(loops_.size());
  for (const auto& loop : loops_) {
    loop->post([this, id, found, left, done](Sessions& sessions, SessionPolicy&) {
      if (sessions.kill(id)) found->store(true);
      if (left->fetch_sub(1) == 1) mail_->post([found, done] { done(found->load()); });
    });
  }
}

void Engine::review_sessions() {
  for (const auto& loop : loops_) {
    loop->post([](Sessions& sessions, SessionPolicy&) { sessions.review(); });
  }
}

std::uint32_t Engine::sessions() const {
  std::uint32_t total = 0;
  for (const auto& loop : loops_) total += loop->load();
  return total;
}

std::uint64_t Engine::count(unsigned counter) const {
  std::uint64_t total = 0;
  for (unsigned area = 0; area <= settings_.loops; ++area) total += table_.counters(area).value(counter);
  return total;
}

void Engine::for_each_policy(const std::function<void(SessionPolicy&)>& task) {
  for (const auto& loop : loops_) loop->post([task](Sessions&, SessionPolicy& policy) { task(policy); });
}

void Engine::for_each_session(std::function<void(const SessionView&)> visit, std::function<void()> done) {
  visit_from(0, std::make_shared<std::function<void(const SessionView&)>>(std::move(visit)), std::move(done));
}

void Engine::visit_from(std::size_t loop, std::shared_ptr<std::function<void(const SessionView&)>> visit,
                        std::function<void()> done) {
  if (loop == loops_.size()) return mail_->post(std::move(done));
  loops_[loop]->post(
      [this, loop, visit = std::move(visit), done = std::move(done)](Sessions& sessions, SessionPolicy&) {
        sessions.for_each(*visit);
        visit_from(loop + 1, visit, done);
      });
}

}  // namespace ravelin::relay
