#include "relay/engine.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <utility>

#include "relay/acceptor.h"
#include "relay/keeper_link.h"
#include "relay/keeper_state.h"
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

constexpr std::uint32_t kSpareSlots = 64;

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
  // Some slots more for each loop: the counts of sessions and of slots change at different moments of a session's end.
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

void Engine::take_shape() {
  const SessionTable::Shape& shape = table_.shape();
  const auto overrule = [this](std::string_view setting, std::uint32_t& value, std::uint32_t in_force) {
    if (value == in_force) return;
    overruled_.push_back({.setting = setting, .in_force = in_force, .wanted = value});
    log_.line(sys::LogLevel::warning, "restart_needed")
        .field("settings", setting)
        .field("wanted", value)
        .field("in_force", in_force);
    value = in_force;
  };
  overrule("loops", settings_.loops, shape.loops);
  overrule("pipes.most", settings_.max_pipes, shape.pipes);
  const std::uint32_t spare = settings_.loops * kSpareSlots;
  const std::uint32_t room = shape.sessions > spare ? shape.sessions - spare : 1;
  if (settings_.max_sessions > room) overrule("max_sessions", settings_.max_sessions, room);
}

sys::Result<void> Engine::take_over(Inheritance inheritance) {
  const bool resumed = static_cast<bool>(inheritance.table);
  cause_ = inheritance.cause;
  if (resumed) {
    auto table = SessionTable::open(std::move(inheritance.table));
    if (!table) return tl::unexpected(table.error());
    if (table->shape().extension_bytes != settings_.extension_bytes) {
      return sys::fail(0, "the session table belongs to another program");
    }
    table_ = std::move(*table);
    take_shape();
  } else if (auto created = create_table(); !created) {
    return created;
  }
  if (auto made = make_loops(); !made) {
    close();
    return made;
  }
  // A drain may still accept for a while: then the keeper still has the listeners.
  if (!inheritance.draining || !inheritance.listeners.empty()) {
    const auto how =
        inheritance.cause == HandOverCause::fresh ? Listeners::Opening::at_start : Listeners::Opening::taking_over;
    if (auto opened = listeners_.open(std::move(inheritance.listeners), how); !opened) {
      close();
      return opened;
    }
  }
  if (resumed) {
    const bool wished = inheritance.cause == HandOverCause::upgrade || inheritance.cause == HandOverCause::reload;
    if (inheritance.cause == HandOverCause::upgrade) table_.control_counters().add(kUpgrades);
    if (!wished) table_.control_counters().add(kWorkerDeaths);
    claim_sessions(inheritance);
    for (const auto& loop : loops_) loop->adopt();
  } else {
    name_listeners();
  }
  // Now, and not before, the table names this process's descriptors; until now the keeper has kept its own.
  if (auto settled = keeper_->settle_inheritance(table_); !settled) {
    close();
    return settled;
  }
  for (const auto& loop : loops_) loop->start();
  tell_keeper();
  accept(std::move(inheritance.newcomers));
  return {};
}

// By the socket that it came from or, without one, by name. A session keeps the name of its listener also when that is
// not there any more.
void Engine::claim_sessions(Inheritance& inheritance) {
  std::vector<std::string> removed;
  const std::size_t configured = settings_.listeners.size();
  ControlRecord& control = table_.control_record();
  numbering_ = static_cast<std::uint16_t>(listeners_.numbering().value_or(control.numbering) + 1);
  name_listeners();
  claim_ = claim(table_, inheritance, [&](SessionRecord& record) {
    const ListenerNumber before = record.listener_before_numbering(numbering_);
    if (const auto now = listeners_.translate(before)) return record.renumber(*now, numbering_);
    const std::string name = control.listener_name(before);
    const auto named = std::ranges::find(settings_.listeners, name, &ListenerOptions::name);
    if (named != settings_.listeners.end()) {
      return record.renumber(static_cast<std::uint16_t>(named - settings_.listeners.begin()), numbering_);
    }
    auto known = std::ranges::find(removed, name);
    const auto now = static_cast<std::uint16_t>(configured + static_cast<std::size_t>(known - removed.begin()));
    if (known == removed.end()) {
      removed.push_back(name);
      control.name_listener({.number = now, .numbering = numbering_}, name);
    }
    record.renumber(now, numbering_);
  });
  control.numbering = numbering_;
  for (const std::string& name : removed) settings_.listeners.push_back({.name = name});
  settings_.removed_listeners = removed.size();
  for (const auto& loop : loops_) loop->policy().removed_listeners(removed);
}

void Engine::name_listeners() {
  for (std::size_t i = 0; i < settings_.listeners.size(); ++i) {
    table_.control_record().name_listener(number_of(static_cast<std::uint16_t>(i)), settings_.listeners[i].name);
  }
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

void Engine::tell_keeper() {
  for (const auto& listener : listeners_.all()) {
    (void)keeper_->hold_listener(number_of(listener.index), listener.key, listener.fd.get());
  }
  keeper_->running(claim_.sessions, claim_.lost);
  claim_ = {};
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

// The acceptor first: what it has handed over lies in the loops' mailboxes before their freezing does.
void Engine::freeze(std::function<void()> frozen) {
  loops_.front()->post([this, frozen = std::move(frozen)](Sessions&, SessionPolicy&) {
    acceptor_->stop();
    const auto left = std::make_shared<std::atomic<std::size_t>>(loops_.size());
    for (const auto& loop : loops_) {
      loop->freeze([this, left, frozen] {
        if (left->fetch_sub(1) == 1) mail_->post(frozen);
      });
    }
  });
}

void Engine::describe(StateWriter& state) const {
  const auto fd_of = [](int fd) { return std::array<int, 1>{fd}; };
  state.add(
      {.kind = KeeperKind::table,
       .items = {{.a = SessionTable::kLayoutVersion, .b = table_.shape().extension_bytes, .c = table_.shape().sessions},
                 {.a = table_.shape().pipes}}},
      fd_of(table_.fd()));
  for (const auto& listener : listeners_.all()) {
    state.add({.kind = KeeperKind::listener, .items = {{.a = listener.index, .b = numbering_}}, .text = listener.key},
              fd_of(listener.fd.get()));
  }
  for (std::uint32_t i = 0; i < table_.shape().pipes; ++i) {
    const PipeRecord& pipe = table_.pipe(i);
    if (pipe.in < 0) continue;
    state.add({.kind = KeeperKind::pipes, .items = {{.a = i, .b = 2}}}, std::array<int, 2>{pipe.in, pipe.out});
  }
  const std::uint32_t used = table_.slots_used();
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    const SessionRecord& record = table_.record(slot);
    if (record.phase == Phase::free || record.client_fd < 0) continue;
    const std::array<int, 2> fds{record.client_fd, record.origin_fd};
    const bool open = record.phase == Phase::relaying && record.origin_fd >= 0;
    state.add({.kind = KeeperKind::sessions, .items = {{.a = slot, .b = record.generation, .c = open ? 2U : 1U}}},
              std::span(fds).first(open ? 2 : 1));
  }
}

sys::Result<std::uint32_t> Engine::open_ahead(const std::vector<ListenerOptions>& next) {
  ahead_ = std::make_unique<Ahead>(log_, next);
  std::vector<Inheritance::Listener> known;
  for (const auto& listener : listeners_.all()) known.push_back({.key = listener.key});
  if (auto opened = ahead_->listeners.open(std::move(known), Listeners::Opening::ahead); !opened) {
    ahead_.reset();
    return tl::unexpected(opened.error());
  }
  for (const auto& listener : ahead_->listeners.all()) {
    auto held = keeper_->hold_listener(number_of(Inheritance::kNoListener), listener.key, listener.fd.get());
    if (held) continue;
    ahead_.reset();
    return tl::unexpected(held.error());
  }
  return static_cast<std::uint32_t>(ahead_->listeners.all().size());
}

std::vector<std::uint16_t> Engine::listeners_missing(const std::vector<ListenerOptions>& next) const {
  std::vector<std::uint16_t> missing;
  for (std::size_t i = 0; i + settings_.removed_listeners < settings_.listeners.size(); ++i) {
    if (std::ranges::find(next, settings_.listeners[i].address, &ListenerOptions::address) != next.end()) continue;
    missing.push_back(static_cast<std::uint16_t>(i));
  }
  return missing;
}

void Engine::close_ahead() {
  ahead_.reset();
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
