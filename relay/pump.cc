#include "relay/pump.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "relay/socket.h"

namespace ravelin::relay {
namespace {

using State = PumpResult::State;

// SPLICE_F_MORE is never set: it holds small writes back like a cork, for 200 ms.
constexpr unsigned kSpliceFlags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE;

// When a flow changes its way. A copy is cheaper up to 16 KiB, splice from 32 KiB on. "The buffer came back full" will
// not do as a sign of a large transfer: small reads keep TCP's window small, and many bulk flows on one processor then
// never fill the buffer, in some runs and not in others.
constexpr ssize_t kLarge = 24 << 10;
constexpr ssize_t kSmall = 4 << 10;
constexpr std::uint8_t kSmallInARow = 8;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK;
}

// What a failed read or write on a socket means for the flow. False: try again.
bool classify(int error, State failed, PumpResult& result) {
  if (error == EINTR) return false;
  if (would_block(error)) {
    result.state = State::waiting;
  } else {
    result.state = failed;
    result.error = error;
  }
  return true;
}

// Looks at the source's bytes, and keeps the error that it may meet there instead of them.
ssize_t look_at(Flow& flow, std::span<std::byte> buffer) {
  const ssize_t seen = peek(flow.from, buffer);
  if (seen < 0 && !would_block(errno)) flow.source_error = errno;
  return seen;
}

// In front of urgent data splice(2) says what it says at the end of a stream that has ended: zero. Only recv(2) knows.
bool has_bytes(Flow& flow) {
  std::array<std::byte, 1> byte;
  return look_at(flow, byte) > 0;
}

void choose_way(FlowRecord& record, ssize_t transfer) {
  if (record.splicing == 0) {
    if (transfer >= kLarge) record.splicing = 1;
    record.small = 0;
  } else {
    record.small = transfer < kSmall ? static_cast<std::uint8_t>(record.small + 1) : 0;
    if (record.small == kSmallInARow) record.splicing = 0;
  }
}

}  // namespace

Flow flow_from(SessionRecord& record, Side side) {
  return {.record = record.flow_from(side),
          .from = record.fd(side),
          .to = record.fd(other(side)),
          .counted = record.counts(),
          .source_error = record.error(side)};
}

PumpResult Pump::run(Flow flow) {
  PumpResult result;
  const std::uint64_t start = flow.record.moved;
  flow.record.blocked = 0;
  for (;;) {
    if (flow.record.pending > 0 && !empty_pipe(flow, result)) return result;
    if (flow.record.eof != 0) {
      release_pipe(flow.record);
      if (flow.record.fin_sent == 0) {
        flow.record.fin_sent = 1;
        ::shutdown(flow.to, SHUT_WR);
        result.progress = true;
      }
      result.state = State::finished;
      return result;
    }
    const std::uint64_t moved = flow.record.moved - start;
    if (moved >= kTurn) {
      release_pipe(flow.record);
      result.state = State::more;
      return result;
    }
    if (!move_some(flow, kTurn - moved, result)) return result;
  }
}

// One transfer, by the way that suits the flow. True: bytes or the end of the stream were taken. False: the turn is
// over as `result` says. Nothing is in the pipe when this is called.
bool Pump::move_some(Flow& flow, std::size_t most, PumpResult& result) {
  FlowRecord& record = flow.record;
  result.short_of_pipes = false;
  if (record.urgent == 0 && (record.splicing != 0 || !flow.counted)) {
    if (fill_pipe(flow, most, result)) return true;
    if (record.urgent == 0 && !result.short_of_pipes) return false;
  }
  release_pipe(record);
  if (flow.counted && pool_.reserve()) return copy_some(flow, result);
  result.short_of_pipes = true;
  return look_and_send(flow, result);
}

// True: the pipe is empty now. False: the turn is over as `result` says.
bool Pump::empty_pipe(Flow& flow, PumpResult& result) {
  FlowRecord& record = flow.record;
  while (record.pending > 0) {
    const ssize_t moved =
        ::splice(pool_.pipe(record.pipe).out, nullptr, flow.to, nullptr, record.pending, kSpliceFlags);
    if (moved > 0) {
      record.pending -= static_cast<std::uint32_t>(moved);
      record.moved += static_cast<std::uint64_t>(moved);
      result.progress = true;
    } else if (classify(moved == 0 ? EPIPE : errno, State::destination_failed, result)) {
      record.blocked = 1;
      return false;
    }
  }
  return true;
}

// True: bytes or the end of the stream were taken. False: the turn is over, there is no pipe (short_of_pipes), or what
// comes next is urgent.
// The pipe is empty when this is called, so EAGAIN can only mean that the socket is: splice(2) does not tell.
bool Pump::fill_pipe(Flow& flow, std::size_t most, PumpResult& result) {
  FlowRecord& record = flow.record;
  if (record.pipe == FlowRecord::kNoPipe) {
    const auto pipe = pool_.take();
    if (!pipe) {
      result.short_of_pipes = true;
      return false;
    }
    record.pipe = *pipe;
  }
  for (;;) {
    const ssize_t taken = ::splice(flow.from, nullptr, pool_.pipe(record.pipe).in, nullptr, most, kSpliceFlags);
    if (taken > 0) {
      record.pending = static_cast<std::uint32_t>(taken);
      choose_way(record, taken);
      return true;
    }
    if (taken == 0 && has_bytes(flow)) {
      record.urgent = 1;
      return false;
    }
    if (taken == 0 && flow.source_error == 0) {
      record.eof = 1;
      return true;
    }
    if (classify(taken == 0 ? flow.source_error : errno, State::source_failed, result)) {
      release_pipe(record);
      return false;
    }
  }
}

// True: bytes or the end of the stream were moved. False: the turn is over as `result` says.
// The order of stores is what recovery reads: `moved` counts nothing of the buffer until all of it lies in the kernel.
bool Pump::copy_some(Flow& flow, PumpResult& result) {
  FlowRecord& record = flow.record;
  record.hold = Hold::taken;
  const ssize_t taken = ::recv(flow.from, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (taken <= 0) {
    record.hold = Hold::none;
    if (taken < 0 || flow.source_error != 0) {
      return !classify(taken == 0 ? flow.source_error : errno, State::source_failed, result);
    }
    record.eof = 1;
    return true;
  }
  const auto bytes = buffer_.first(static_cast<std::size_t>(taken));
  const ssize_t sent = ::send(flow.to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  int error = sent < 0 && !would_block(errno) && errno != EINTR ? errno : 0;
  const std::size_t given = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (error == 0 && given < bytes.size()) error = put_aside(record, bytes.subspan(given));
  record.moved += given;
  record.hold = Hold::none;
  result.progress = true;
  if (error != 0) {
    result.state = State::destination_failed;
    result.error = error;
    return false;
  }
  choose_way(record, taken);
  // Less than was asked for is all that there was, and what comes later comes with an event of its own.
  const bool drained = bytes.size() < buffer_.size() && record.ending == 0 && record.urgent == 0;
  return record.pending > 0 || !drained;
}

// The destination has taken a part. The rest goes where a socket's bytes are safe, into a pipe. Returns 0 or an errno.
int Pump::put_aside(FlowRecord& record, std::span<const std::byte> rest) {
  const auto pipe = pool_.take();
  if (!pipe) return pipe.error().code;
  record.pipe = *pipe;
  const ssize_t written = ::write(pool_.pipe(*pipe).in, rest.data(), rest.size());
  if (written != static_cast<ssize_t>(rest.size())) return ENOMEM;  // it has room, so there are no pages
  record.pending = static_cast<std::uint32_t>(rest.size());
  return 0;
}

// True: bytes or the end of the stream were moved. False: the turn is over as `result` says.
bool Pump::look_and_send(Flow& flow, PumpResult& result) {
  FlowRecord& record = flow.record;
  const ssize_t seen = peek(flow.from, buffer_);
  if (seen == 0 && flow.source_error == 0) {
    record.eof = 1;
    return true;
  }
  if (seen <= 0) return !classify(seen == 0 ? flow.source_error : errno, State::source_failed, result);
  record.hold = Hold::looked_at;
  const ssize_t sent = ::send(flow.to, buffer_.data(), static_cast<std::size_t>(seen), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    record.hold = Hold::none;
    record.blocked = 1;
    return !classify(errno, State::destination_failed, result);
  }
  consume(flow.from, static_cast<std::size_t>(sent));
  record.moved += static_cast<std::uint64_t>(sent);
  record.hold = Hold::none;
  result.progress = true;
  return true;
}

sys::Result<bool> Pump::open(Flow flow, std::span<const std::byte> header, std::size_t skip) {
  const ssize_t seen = look_at(flow, buffer_);
  const std::size_t payload = seen > static_cast<ssize_t>(skip) ? static_cast<std::size_t>(seen) - skip : 0;
  const bool drained = seen < static_cast<ssize_t>(buffer_.size()) && flow.record.ending == 0 && flow.source_error == 0;
  std::array<iovec, 2> parts{
      {{const_cast<std::byte*>(header.data()), header.size()}, {buffer_.data() + skip, payload}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (header.size() + payload == 0) {
    consume(flow.from, skip);
    return drained;
  }
  flow.record.hold = Hold::looked_at;
  const ssize_t sent = ::sendmsg(flow.to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  // The send buffer of a fresh connection holds many times the largest header. If it does not, the stream would begin
  // with half a header, and that is as good as no connection.
  if (sent < 0 || static_cast<std::size_t>(sent) < header.size()) {
    flow.record.hold = Hold::none;
    return sys::fail(sent < 0 ? errno : ENOBUFS, "cannot send the first bytes");
  }
  const std::size_t given = static_cast<std::size_t>(sent) - header.size();
  consume(flow.from, skip + given);
  flow.record.moved += given;
  flow.record.hold = Hold::none;
  return drained && given == payload;
}

// MSG_TRUNC makes TCP drop bytes without copying them; other sockets copy them over what has been sent already.
void Pump::consume(int from, std::size_t count) {
  while (count > 0) {
    const ssize_t taken = ::recv(from, buffer_.data(), std::min(count, buffer_.size()), MSG_TRUNC | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;  // a reset threw them away
    count -= static_cast<std::size_t>(taken);
  }
}

void Pump::release_pipe(FlowRecord& record) {
  if (record.pipe == FlowRecord::kNoPipe) return;
  const std::int32_t pipe = record.pipe;
  record.pipe = FlowRecord::kNoPipe;
  pool_.give_back(pipe);
}

}  // namespace ravelin::relay
