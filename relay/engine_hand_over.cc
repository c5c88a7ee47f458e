// How an engine goes on with another process's sessions, and how it leaves its own to the next one.

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "relay/acceptor.h"
#include "relay/engine.h"
#include "relay/keeper_link.h"
#include "relay/keeper_state.h"
#include "relay/relay_loop.h"

namespace ravelin::relay {

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

void Engine::tell_keeper() {
  for (const auto& listener : listeners_.all()) {
    (void)keeper_->hold_listener(number_of(listener.index), listener.key, listener.fd.get());
  }
  keeper_->running(claim_.sessions, claim_.lost);
  claim_ = {};
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

}  // namespace ravelin::relay
