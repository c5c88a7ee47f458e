#include "relay/keeper_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "relay/socket.h"

namespace ravelin::relay {
namespace {

constexpr std::uint32_t kMostSlots = 16U << 20;
constexpr std::uint32_t kMostPipes = 1U << 20;
constexpr std::size_t kMostListeners = 4096;
constexpr std::size_t kBatch = 252;  // descriptors a message, an even number below what the kernel takes

}  // namespace

sys::Result<void> KeeperStore::take(Received received) {
  switch (received.message.kind) {
    case KeeperKind::table:
      return take_table(received);
    case KeeperKind::listener:
      return take_listener(received);
    case KeeperKind::pipes:
      return take_pipes(received);
    case KeeperKind::sessions:
      return take_sessions(received);
    case KeeperKind::newcomers:
      return take_newcomers(received);
    default:
      return sys::fail(0, "message {} is nothing to hold", static_cast<unsigned>(received.message.kind));
  }
}

sys::Result<void> KeeperStore::take_table(Received& received) {
  const auto& items = received.message.items;
  if (items.size() < 2 || items[0].c > kMostSlots || items[1].a > kMostPipes) {
    return sys::fail(0, "a session table of impossible size");
  }
  // Another table has other slots; what is held for the old ones is nobody's any more.
  forget_sessions();
  table_ = std::move(received.fds.front());
  table_head_ = items[0];
  pipe_limit_ = items[1].a;
  return {};
}

sys::Result<void> KeeperStore::take_listener(Received& received) {
  Listener listener{.number = received.message.head(),
                    .key = std::move(received.message.text),
                    .fd = std::move(received.fds.front())};
  // Two listeners may have the same key, ":0" for one: each is named once.
  const auto known = std::ranges::find_if(
      listeners_, [&](const Listener& other) { return !other.named && other.key == listener.key; });
  if (known != listeners_.end()) {
    *known = std::move(listener);
    return {};
  }
  if (listeners_.size() >= kMostListeners) return sys::fail(0, "more than {} listeners", kMostListeners);
  listeners_.push_back(std::move(listener));
  return {};
}

void KeeperStore::expect_listeners() {
  for (Listener& listener : listeners_) listener.named = false;
}

void KeeperStore::forget_unnamed_listeners() {
  std::erase_if(listeners_, [](const Listener& listener) { return !listener.named; });
}

void KeeperStore::forget_last_listeners(std::uint32_t count) {
  listeners_.resize(listeners_.size() - std::min<std::size_t>(count, listeners_.size()));
}

sys::Result<void> KeeperStore::take_pipes(Received& received) {
  auto fd = received.fds.begin();
  for (const KeeperItem& item : received.message.items) {
    if (item.a >= pipe_limit_ || (item.b != 0 && item.b != 2)) return sys::fail(0, "a pipe out of bounds");
    if (pipes_.size() <= item.a) pipes_.resize(item.a + 1U);
    Pipe& pipe = pipes_[item.a];
    pipe = {};
    if (item.b == 0) continue;
    pipe.in = std::move(*fd++);
    pipe.out = std::move(*fd++);
  }
  return {};
}

sys::Result<void> KeeperStore::take_sessions(Received& received) {
  auto fd = received.fds.begin();
  for (const KeeperItem& item : received.message.items) {
    if (item.a >= table_head_.c || item.c > 2) return sys::fail(0, "a session out of bounds");
    if (sessions_.size() <= item.a) sessions_.resize(item.a + 1U);
    Session& session = sessions_[item.a];
    if (item.c == 0) {
      if (session.generation != item.b || !session.client) continue;
      session = {};
      --held_;
      continue;
    }
    if (!session.client) ++held_;
    session.generation = item.b;
    session.client = std::move(*fd++);
    session.origin = item.c == 2 ? std::move(*fd++) : sys::UniqueFd();
  }
  return {};
}

// A worker that dies over its take-over names those again that it was given.
sys::Result<void> KeeperStore::take_newcomers(Received& received) {
  for (sys::UniqueFd& fd : received.fds) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return sys::fail(errno, "a newcomer");
    if (std::ranges::find(newcomers_, status.st_ino, &Newcomer::socket) != newcomers_.end()) continue;
    if (newcomers_.size() >= kMostSlots) return sys::fail(0, "more than {} newcomers", kMostSlots);
    newcomers_.push_back({.socket = status.st_ino, .fd = std::move(fd)});
  }
  return {};
}

std::optional<KeeperStore::Saying> KeeperStore::say(Cursor& cursor) const {
  using Part = Cursor::Part;
  Saying saying;
  if (cursor.part == Part::table) {
    cursor = {.part = Part::listeners};
    if (table_) {
      saying.message = {.kind = KeeperKind::table, .items = {table_head_, {.a = pipe_limit_}}};
      saying.fds = {table_.get()};
      return saying;
    }
  }
  if (cursor.part == Part::listeners) {
    if (cursor.next < listeners_.size()) {
      const Listener& listener = listeners_[cursor.next++];
      saying.message = {.kind = KeeperKind::listener, .items = {listener.number}, .text = listener.key};
      saying.fds = {listener.fd.get()};
      return saying;
    }
    cursor = {.part = Part::pipes};
  }
  if (cursor.part == Part::pipes) {
    say_pipes(cursor, saying);
    if (!saying.fds.empty()) return saying;
    cursor = {.part = Part::sessions};
  }
  if (cursor.part == Part::sessions) {
    say_sessions(cursor, saying);
    if (!saying.fds.empty()) return saying;
    cursor = {.part = Part::newcomers};
  }
  if (cursor.part == Part::newcomers) {
    say_newcomers(cursor, saying);
    if (!saying.fds.empty()) return saying;
    cursor.part = Part::end;
  }
  return std::nullopt;
}

void KeeperStore::say_pipes(Cursor& cursor, Saying& saying) const {
  saying.message.kind = KeeperKind::pipes;
  for (; cursor.next < pipes_.size() && saying.fds.size() < kBatch; ++cursor.next) {
    const Pipe& pipe = pipes_[cursor.next];
    if (!pipe.in) continue;
    saying.message.items.push_back({.a = static_cast<std::uint32_t>(cursor.next), .b = 2});
    saying.fds.insert(saying.fds.end(), {pipe.in.get(), pipe.out.get()});
  }
}

void KeeperStore::say_sessions(Cursor& cursor, Saying& saying) const {
  saying.message.kind = KeeperKind::sessions;
  for (; cursor.next < sessions_.size() && saying.fds.size() < kBatch; ++cursor.next) {
    const Session& session = sessions_[cursor.next];
    if (!session.client) continue;
    const std::uint32_t count = session.origin ? 2 : 1;
    saying.message.items.push_back({.a = static_cast<std::uint32_t>(cursor.next), .b = session.generation, .c = count});
    saying.fds.push_back(session.client.get());
    if (session.origin) saying.fds.push_back(session.origin.get());
  }
}

void KeeperStore::say_newcomers(Cursor& cursor, Saying& saying) const {
  saying.message.kind = KeeperKind::newcomers;
  for (; cursor.next < newcomers_.size() && saying.fds.size() < kBatch; ++cursor.next) {
    saying.message.items.push_back({.a = 1});
    saying.fds.push_back(newcomers_[cursor.next].fd.get());
  }
}

void KeeperStore::forget_sessions() {
  sessions_.clear();
  pipes_.clear();
  newcomers_.clear();
  held_ = 0;
}

void KeeperStore::drop_sessions() {
  for (Session& session : sessions_) {
    if (session.client) reset(session.client.get());
    if (session.origin) reset(session.origin.get());
  }
  for (Newcomer& newcomer : newcomers_) reset(newcomer.fd.get());
  forget_sessions();
  table_.reset();
  table_head_ = {};
}

}  // namespace ravelin::relay
