// A session before its bytes move: the client's first bytes are looked at, an origin is found, and the header goes out.
// Nothing is consumed from the client until something has been sent to an origin, so all of it can start again.

#include <sys/epoll.h>
#include <unistd.h>

#include <array>

#include "relay/clock.h"
#include "relay/sessions.h"
#include "relay/socket.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

// What a failed attempt is called if it was the last one.
Reason reason_for(int error) {
  switch (error) {
    case ECONNREFUSED:
      return Reason::connect_refused;
    case ETIMEDOUT:
      return Reason::connect_timeout;
    case EADDRINUSE:
    case EADDRNOTAVAIL:
      return Reason::no_source_port;
    case EMFILE:
    case ENFILE:
      return Reason::no_descriptors;
    default:
      return Reason::connect_unreachable;
  }
}

bool has_ended(std::uint32_t flags) {
  return (flags & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
}

}  // namespace

void Sessions::look(Place place, std::uint32_t flags) {
  const SessionRecord& record = slots_.record(place);
  // One byte tells that there is any. The event does not: a FIN alone makes a socket readable, too, and the kernel
  // looks at what is readable after it has looked for the FIN, so that one in between comes as EPOLLIN without
  // EPOLLRDHUP.
  const bool looks = policy_.looks_at_bytes();
  const ssize_t seen = peek(record.client_fd, buffer_.first(looks ? kMaxPeek : 1));
  if (seen < 0 && errno == EAGAIN) return;
  if (seen < 0) return end(place, EndSide::client, EndKind::reset, Reason::silent);
  if (seen == 0) return end(place, EndSide::client, EndKind::fin, Reason::silent);
  if (!looks) return connect(place);
  const auto bytes = std::span(buffer_).first(static_cast<std::size_t>(seen));
  const bool ended = has_ended(flags);
  Opening opening = policy_.inspect(slots_.view(place), bytes, ended);
  // More will not come, neither from a client that has finished nor into a full buffer.
  if (opening.verdict == Opening::Verdict::need_more && (ended || bytes.size() == kMaxPeek)) {
    opening = {.verdict = Opening::Verdict::close, .reason = Reason::silent};
  }
  act_on(place, opening, bytes.size());
}

void Sessions::act_on(Place place, const Opening& opening, std::size_t seen) {
  SessionRecord& record = slots_.record(place);
  switch (opening.verdict) {
    case Opening::Verdict::need_more:
      return;
    case Opening::Verdict::proceed:
      record.skip_bytes = opening.skip;
      return connect(place);
    case Opening::Verdict::refuse:
      return end(place, EndSide::self, EndKind::reset, opening.reason);
    case Opening::Verdict::close:
      // Bytes left unread would turn the end of the stream into a reset.
      pump_.consume(record.client_fd, seen);
      return end(place, EndSide::client, EndKind::fin, opening.reason);
  }
}

void Sessions::connect(Place place) {
  SessionRecord& record = slots_.record(place);
  record.phase = Phase::connecting;
  record.end_by_ms = 0;
  if (record.attempts == 0) record.reason = Reason::no_origin;
  while (const auto target = policy_.next_target(slots_.view(place))) {
    record.origin = target->origin;
    record.origin_peer = sys::SocketAddress::from(reinterpret_cast<const sockaddr*>(&target->address), target->length);
    ++record.attempts;
    counters_.add(kConnectAttempts);
    const auto connected = try_target(place, *target);
    if (!connected) {
      give_up_attempt(place, connected.error().code);
      continue;
    }
    deadlines_.set(place, options(record).timeouts.connect, monotonic_ms());
    if (*connected) open(place, 0);
    return;
  }
  end_without_target(place);
}

void Sessions::end_without_target(Place place) {
  const SessionRecord& record = slots_.record(place);
  const EndKind kind = policy_.end_without_target(slots_.view(place));
  if (kind == EndKind::fin) {
    // Bytes left unread would turn the end of the stream into a reset.
    const ssize_t seen = peek(record.client_fd, buffer_.first(kMaxPeek));
    if (seen > 0) pump_.consume(record.client_fd, static_cast<std::uint64_t>(seen));
  }
  end(place, EndSide::self, kind, record.reason);
}

// True: connected already. False: it will be, or fail, later.
sys::Result<bool> Sessions::try_target(Place place, const Target& target) {
  SessionRecord& record = slots_.record(place);
  const int fd = ::socket(target.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return sys::fail(errno, "socket");
  record.origin_fd = fd;
  if (auto prepared = prepare_stream(options(record).origin, fd); !prepared) return tl::unexpected(prepared.error());
  if (auto prepared = policy_.prepare(slots_.view(place), fd, target); !prepared)
    return tl::unexpected(prepared.error());
  // A full backlog of a Unix socket is EAGAIN here, and no event tells when it has room: as good as refused.
  const int status = ::connect(fd, reinterpret_cast<const sockaddr*>(&target.address), target.length);
  if (status != 0 && errno != EINPROGRESS) return sys::fail(errno == EAGAIN ? ECONNREFUSED : errno, "connect");
  const int error = status == 0 ? 0 : EINPROGRESS;
  if (auto added = readiness_.add(fd, token(place, Side::origin)); !added) return tl::unexpected(added.error());
  return error == 0;
}

void Sessions::give_up_attempt(Place place, int error) {
  SessionRecord& record = slots_.record(place);
  counters_.add(kConnectFailures);
  record.reason = reason_for(error);
  if (record.origin_fd >= 0) reset(record.origin_fd);
  drop_origin(record);
  policy_.attempt_failed(slots_.view(place), error);
}

void Sessions::client_event_while_connecting(Place place, std::uint32_t flags) {
  // A client that has only finished sending still wants its answer.
  if ((flags & (EPOLLERR | EPOLLHUP)) != 0) end(place, EndSide::client, EndKind::reset, Reason::peer_reset);
}

void Sessions::origin_event_while_connecting(Place place, std::uint32_t flags) {
  SessionRecord& record = slots_.record(place);
  if ((flags & (EPOLLERR | EPOLLHUP)) != 0) {
    const int error = sys::get_option<int>(record.origin_fd, SOL_SOCKET, SO_ERROR).value_or(EBADF);
    if (error != 0) {
      give_up_attempt(place, error);
      return connect(place);
    }
  }
  if ((flags & EPOLLOUT) == 0) return;
  if (const auto local = sys::SocketAddress::local_of(record.origin_fd)) record.origin_local = *local;
  // Toward a local port that nobody listens on, TCP's simultaneous open can connect a socket to itself.
  if (record.origin_peer.is_ip() && record.origin_local == record.origin_peer) {
    give_up_attempt(place, ECONNREFUSED);
    return connect(place);
  }
  open(place, flags);
}

// `origin_flags`: what the origin's socket has said already and will not say again.
void Sessions::open(Place place, std::uint32_t origin_flags) {
  SessionRecord& record = slots_.record(place);
  std::array<std::byte, kMaxHeader> header;
  const std::size_t length = policy_.write_header(slots_.view(place), header);
  record.header_bytes = static_cast<std::uint16_t>(length);
  record.reason = Reason::none;
  record.phase = Phase::relaying;
  const auto opened = pump_.open(flow_from(record, Side::client), std::span(header).first(length), record.skip_bytes);
  if (!opened) {
    record.phase = Phase::connecting;
    give_up_attempt(place, opened.error().code);
    return connect(place);
  }
  relaying(place);
  record.last_activity_ms = monotonic_ms();
  settle_later(place);
  if (!*opened && run_flow(place, Side::client)) return;
  if ((origin_flags & (EPOLLIN | EPOLLRDHUP | EPOLLHUP)) != 0) (void)run_flow(place, Side::origin);
}

}  // namespace ravelin::relay
