#include "relay/recovery.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "relay/socket.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

using Action = Resumption::Action;

// Bytes in the flow's pipe; an empty pipe goes back to the pool.
std::uint64_t settle_pipe(FlowRecord& flow, PipePool& pipes) {
  if (flow.pipe == FlowRecord::kNoPipe) {
    flow.pending = 0;
    return 0;
  }
  const auto pending = sys::readable_bytes(pipes.pipe(flow.pipe).out);
  flow.pending = static_cast<std::uint32_t>(pending.value_or(0));
  if (flow.pending == 0) pipes.give_back(std::exchange(flow.pipe, FlowRecord::kNoPipe));
  return flow.pending;
}

// What one flow has taken and given, as the kernel counts it.
struct Balance {
  const TcpFacts& source;
  const TcpFacts& destination;
  std::uint64_t put_in_front;  // sent, although the source never said it
  std::uint64_t skipped;       // taken, and not sent
};

// Brings the last `count` bytes that were received into the buffer to where they are safe: behind those of them that
// are in the flow's pipe already.
bool rescue(FlowRecord& flow, PipePool& pipes, std::span<const std::byte> received, std::uint64_t count) {
  if (flow.pipe == FlowRecord::kNoPipe) {
    const auto pipe = pipes.take();
    if (!pipe) return false;
    flow.pipe = *pipe;
  }
  const auto rest = received.last(static_cast<std::size_t>(count));
  const ssize_t written = ::write(pipes.pipe(flow.pipe).in, rest.data(), rest.size());
  if (written != static_cast<ssize_t>(rest.size())) return false;
  flow.pending += static_cast<std::uint32_t>(count);
  return true;
}

// What has still to be consumed from the source because it has been sent on already. Nothing: the counts contradict
// each other, or the bytes cannot be kept.
std::optional<std::uint64_t> settle(FlowRecord& flow, PipePool& pipes, const Balance& balance,
                                    std::span<const std::byte> buffer) {
  if (balance.destination.sent < balance.put_in_front) return std::nullopt;
  const std::uint64_t piped = settle_pipe(flow, pipes);
  const std::uint64_t given = balance.destination.sent - balance.put_in_front;
  const std::uint64_t taken = balance.source.received - balance.source.unread;
  const std::uint64_t due = given + piped + balance.skipped;
  if (due < taken) {
    // Of the buffer's contents `moved` counts none, see Pump::copy_some.
    const std::uint64_t received = taken - balance.skipped - flow.moved;
    const std::uint64_t missing = taken - due;
    if (flow.hold != Hold::taken || received > buffer.size() || missing > received) return std::nullopt;
    if (!rescue(flow, pipes, buffer.first(static_cast<std::size_t>(received)), missing)) return std::nullopt;
  }
  flow.moved = given;
  return due < taken ? 0 : due - taken;
}

// A connection that is closed although the end of one of its streams is missing has failed. Who worked on it may have
// taken the error from the socket without having come to write it down.
void keep_failure(SessionRecord& record, Side side, const TcpFacts& facts) {
  if (!facts.closed || record.error(side) != 0) return;
  const bool finished = facts.ended && record.flow_from(other(side)).fin_sent != 0;
  if (facts.error != 0 || !finished) record.error(side) = facts.error != 0 ? facts.error : ECONNRESET;
}

void close_origin(SessionRecord& record) {
  if (record.origin_fd < 0) return;
  reset(record.origin_fd);
  ::close(std::exchange(record.origin_fd, -1));
}

Resumption start_again(SessionRecord& record) {
  close_origin(record);
  record.phase = Phase::connecting;
  return {.action = Action::connect};
}

Resumption take_stock_of_relay(SessionRecord& record, PipePool& pipes, std::span<const std::byte> buffer) {
  const auto client = tcp_facts(record.client_fd, false);
  const auto origin = tcp_facts(record.origin_fd, true);
  Resumption result{.action = Action::relay};
  if (client && origin) {
    if (origin->sent == 0 && record.header_bytes > 0) return start_again(record);
    keep_failure(record, Side::client, *client);
    keep_failure(record, Side::origin, *origin);
    // Once the end of a stream is passed on all of its bytes are, and the end itself counts as one more.
    if (record.up.fin_sent == 0) {
      const auto due = settle(record.up, pipes, {*client, *origin, record.header_bytes, record.skip_bytes}, buffer);
      if (!due) return {.reason = Reason::internal};
      result.consume_up = *due;
    }
    if (record.down.fin_sent == 0) {
      const auto due = settle(record.down, pipes, {*origin, *client, 0, 0}, buffer);
      if (!due) return {.reason = Reason::internal};
      result.consume_down = *due;
    }
  } else if (record.up.hold != Hold::none || record.down.hold != Hold::none) {
    // Sockets that count nothing: whether the looked-at bytes were sent cannot be known, and a doubled byte is worse
    // than an honest end.
    return {.reason = Reason::internal};
  } else {
    settle_pipe(record.up, pipes);
    settle_pipe(record.down, pipes);
  }
  for (const Side side : {Side::client, Side::origin}) {
    FlowRecord& flow = record.flow_from(side);
    flow.hold = Hold::none;
    // Stored before the call that may not have happened; twice does no harm.
    if (flow.fin_sent != 0) finish_sending(record.fd(other(side)));
  }
  return result;
}

}  // namespace

Resumption take_stock(SessionRecord& record, PipePool& pipes, std::span<const std::byte> buffer) {
  switch (record.phase) {
    case Phase::waiting:
      return {.action = Action::wait};
    case Phase::connecting:
      return start_again(record);
    case Phase::relaying:
      return take_stock_of_relay(record, pipes, buffer);
    case Phase::closing:
    case Phase::free:
      break;
  }
  return {.reason = Reason::internal};
}

bool is_in_buffer(const SessionRecord& record) {
  return record.up.hold == Hold::taken || record.down.hold == Hold::taken;
}

}  // namespace ravelin::relay
