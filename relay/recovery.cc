#include "relay/recovery.h"

#include <unistd.h>

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

// What has still to be consumed from the source because it has been sent on already. `put_in_front` bytes were sent
// that the source never said, `skipped` are taken from it without being sent. Nothing: the counts contradict each
// other.
std::optional<std::uint64_t> unconsumed(FlowRecord& flow, const TcpFacts& source, const TcpFacts& destination,
                                        std::uint64_t piped, std::uint64_t put_in_front, std::uint64_t skipped) {
  if (destination.sent < put_in_front) return std::nullopt;
  flow.moved = destination.sent - put_in_front;
  const std::uint64_t due = flow.moved + piped + skipped;
  const std::uint64_t taken = source.received - source.unread;
  if (due < taken) return std::nullopt;
  return due - taken;
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

Resumption take_stock_of_relay(SessionRecord& record, PipePool& pipes) {
  const std::uint64_t piped_up = settle_pipe(record.up, pipes);
  const std::uint64_t piped_down = settle_pipe(record.down, pipes);
  const auto client = tcp_facts(record.client_fd, false);
  const auto origin = tcp_facts(record.origin_fd, true);
  Resumption result{.action = Action::relay};
  if (client && origin) {
    if (origin->sent == 0 && record.header_bytes > 0) return start_again(record);
    // Once the end of a stream is passed on all of its bytes are, and the end itself counts as one more.
    if (record.up.fin_sent == 0) {
      const auto due = unconsumed(record.up, *client, *origin, piped_up, record.header_bytes, record.skip_bytes);
      if (!due) return {.reason = Reason::internal};
      result.consume_up = *due;
    }
    if (record.down.fin_sent == 0) {
      const auto due = unconsumed(record.down, *origin, *client, piped_down, 0, 0);
      if (!due) return {.reason = Reason::internal};
      result.consume_down = *due;
    }
  } else if (record.up.copying != 0 || record.down.copying != 0) {
    // Sockets that count nothing: whether the looked-at bytes were sent cannot be known, and a doubled byte is worse
    // than an honest end.
    return {.reason = Reason::internal};
  }
  for (const Side side : {Side::client, Side::origin}) {
    FlowRecord& flow = record.flow_from(side);
    flow.copying = 0;
    // Stored before the call that may not have happened; twice does no harm.
    if (flow.fin_sent != 0) finish_sending(record.fd(other(side)));
  }
  return result;
}

}  // namespace

Resumption take_stock(SessionRecord& record, PipePool& pipes) {
  switch (record.phase) {
    case Phase::waiting:
      return {.action = Action::wait};
    case Phase::connecting:
      return start_again(record);
    case Phase::relaying:
      return take_stock_of_relay(record, pipes);
    case Phase::closing:
    case Phase::free:
      break;
  }
  return {.reason = Reason::internal};
}

}  // namespace ravelin::relay
