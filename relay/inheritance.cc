#include "relay/inheritance.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "relay/policy.h"

namespace ravelin::relay {
namespace {

constexpr std::uint16_t kLongestAbstractName = 16;

// A process that died by its own doing names what it was at. Whoever is named twice is ended.
std::vector<std::uint64_t> find_poison(const SessionTable& table, HandOverCause cause) {
  std::vector<std::uint64_t> poison;
  for (std::uint32_t loop = 0; loop < table.shape().loops; ++loop) {
    CounterBlock& block = table.counters(loop);
    const std::uint64_t at = block.current();
    block.work_on(0);
    if (cause != HandOverCause::crashed || at == 0) continue;
    if (at == block.suspected()) poison.push_back(at);
    block.suspect(at);
  }
  return poison;
}

void close_record(SessionRecord& record, Reason reason) {
  record.phase = Phase::closing;
  record.end_side = EndSide::self;
  record.end_kind = EndKind::reset;
  record.reason = reason;
  record.up.pipe = record.down.pipe = FlowRecord::kNoPipe;
}

void bound(sys::SocketAddress& address) {
  if (address.family == AF_UNIX && address.scope > kLongestAbstractName) address.scope = 0;
}

class Claiming {
 public:
  Claiming(const SessionTable& table, const std::function<void(SessionRecord&)>& renumber)
      : table_(table), renumber_(renumber), owned_(table.shape().pipes, false) {}

  // False: the record contradicts itself or the table.
  [[nodiscard]] bool is_sound(std::uint32_t slot, const SessionRecord& record) {
    if (record.phase > Phase::closing || record.header_bytes > kMaxHeader || record.end_side > EndSide::self ||
        record.end_kind > EndKind::timeout || record.reason >= Reason::kCount) {
      return false;
    }
    const bool needs_origin = record.phase == Phase::relaying;
    if (needs_origin && record.origin_fd < 0) return false;
    return owns(slot, record.up.pipe) && owns(slot, record.down.pipe);
  }

  void correct(SessionRecord& record) {
    renumber_(record);
    for (auto* address : {&record.client, &record.local, &record.origin_peer, &record.origin_local}) bound(*address);
  }

 private:
  // Of the loop's own part of the pool, there, and nobody else's.
  [[nodiscard]] bool owns(std::uint32_t slot, std::int32_t pipe) {
    if (pipe == FlowRecord::kNoPipe) return true;
    const auto index = static_cast<std::uint32_t>(pipe);
    const std::uint32_t loops = table_.shape().loops;
    if (pipe < 0 || index >= owned_.size() || index % loops != slot % loops || table_.pipe(index).in < 0) return false;
    if (owned_[index]) return false;
    owned_[index] = true;
    return true;
  }

  const SessionTable& table_;
  const std::function<void(SessionRecord&)>& renumber_;
  std::vector<bool> owned_;
};

}  // namespace

sys::Result<void> Inheritance::take(Received received) {
  auto fd = received.fds.begin();
  switch (received.message.kind) {
    case KeeperKind::table:
      table = std::move(*fd);
      return {};
    case KeeperKind::listener:
      listeners.push_back({.number = {.number = static_cast<std::uint16_t>(received.message.head().a),
                                      .numbering = static_cast<std::uint16_t>(received.message.head().b)},
                           .key = std::move(received.message.text),
                           .fd = std::move(*fd)});
      return {};
    case KeeperKind::pipes:
      for (const KeeperItem& item : received.message.items) {
        if (item.b != 2) return sys::fail(0, "a pipe with {} ends", item.b);
        sys::UniqueFd in = std::move(*fd++);
        pipes.push_back({.index = item.a, .in = std::move(in), .out = std::move(*fd++)});
      }
      return {};
    case KeeperKind::sessions:
      for (const KeeperItem& item : received.message.items) {
        if (item.c != 1 && item.c != 2) return sys::fail(0, "a session with {} sockets", item.c);
        Session session{.slot = item.a, .generation = item.b, .client = std::move(*fd++)};
        if (item.c == 2) session.origin = std::move(*fd++);
        sessions.push_back(std::move(session));
      }
      return {};
    case KeeperKind::newcomers:
      std::ranges::move(received.fds, std::back_inserter(newcomers));
      return {};
    default:
      if (!is_known(received.message.kind)) return {};
      return sys::fail(0, "message {} is nothing to inherit", static_cast<unsigned>(received.message.kind));
  }
}

std::string listener_key(const sys::SocketAddress& wanted) {
  return "tcp " + wanted.text();
}

std::string listener_key(const std::string& unix_path) {
  return "unix " + unix_path;
}

Claim claim(const SessionTable& table, Inheritance& inheritance, const std::function<void(SessionRecord&)>& renumber) {
  Claim result;
  for (std::uint32_t i = 0; i < table.shape().pipes; ++i) table.pipe(i) = {};
  for (Inheritance::Pipe& pipe : inheritance.pipes) {
    if (pipe.index >= table.shape().pipes) continue;
    table.pipe(pipe.index) = {.in = pipe.in.release(), .out = pipe.out.release()};
  }
  const std::uint32_t used = table.slots_used();
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    SessionRecord& record = table.record(slot);
    record.client_fd = record.origin_fd = -1;
  }
  for (Inheritance::Session& session : inheritance.sessions) {
    SessionRecord* record = session.slot < used ? &table.record(session.slot) : nullptr;
    if (record == nullptr || record->generation != session.generation || record->phase == Phase::free) {
      continue;  // over already
    }
    record->client_fd = session.client.release();
    record->origin_fd = session.origin.release();
  }
  const auto poison = find_poison(table, inheritance.cause);
  Claiming claiming(table, renumber);
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    SessionRecord& record = table.record(slot);
    if (record.phase == Phase::free) continue;
    claiming.correct(record);
    if (record.client_fd < 0) {
      // One that was closing had been let go already, with a reason of its own.
      const bool was_closing = record.phase == Phase::closing;
      close_record(record, was_closing && record.reason < Reason::kCount ? record.reason : Reason::process_died);
      result.lost += was_closing ? 0U : 1U;
      continue;
    }
    if (std::ranges::find(poison, session_mark(slot, record.generation)) != poison.end()) {
      close_record(record, Reason::poisonous);
    } else if (!claiming.is_sound(slot, record)) {
      close_record(record, Reason::internal);
    } else {
      ++result.sessions;
    }
  }
  return result;
}

}  // namespace ravelin::relay
