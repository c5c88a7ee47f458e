// The way from accept() to the first byte of one's own protocol, for servers that block. The library itself makes no
// system call and reads no clock; this header, which is all inline, does both on the caller's behalf and in its thread.
//
//   ppv2::Sniffer sniffer({.policy = ppv2::Policy::require}, ppv2::contains(proxies, measured));
//   std::array<std::byte, 4096> chunk;
//   const ppv2::FirstBytes first = ppv2::take_header(fd, sniffer, chunk);
//   if (!first.may_go_on()) return close(fd);
//   serve(fd, sniffer.effective(measured), sniffer.pushback(), first.rest);
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "ppv2/sniffer.h"

namespace ppv2 {

// How long a connection may take, counted from the call, which should follow accept() at once. Three seconds are the
// time of a retransmission (proxy-protocol.txt section 2).
struct Patience {
  std::chrono::milliseconds silence{3000};  // to the first byte: then `sniff` passes it on, and `require` ends it
  std::chrono::milliseconds header{3000};   // to the decision, once there was a byte
};

// What take_header() found.
struct FirstBytes {
  Step step;      // the sniffer's last word; wait if the socket failed
  Bytes rest;     // of the chunk: what comes behind sniffer.pushback()
  int error = 0;  // errno of poll() or recv(), 0 without a failure

  // The connection is to be served: the header is off, or there is none and needs to be none.
  [[nodiscard]] bool may_go_on() const noexcept { return step.action == Action::accept || step.action == Action::pass; }
};

// Reads from `fd`, blocking or not, into `chunk` until the sniffer has decided or the caller's patience has ended.
// Bytes that were read and are the next layer's are in the sniffer's pushback and in `rest`. Closes nothing.
[[nodiscard]] inline FirstBytes take_header(int fd, Sniffer& sniffer, std::span<std::byte> chunk,
                                            const Patience& patience = {}) noexcept {
  using std::chrono::ceil, std::chrono::milliseconds, std::chrono::steady_clock;
  const auto accepted = steady_clock::now();
  FirstBytes first;
  first.step = sniffer.feed({});  // some connections are decided unread
  bool silent = true;
  while (first.step.action == Action::wait) {
    const auto deadline = accepted + (silent ? patience.silence : patience.header);
    const auto left = std::max(ceil<milliseconds>(deadline - steady_clock::now()), milliseconds(0));
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(left.count()));
    if (ready == 0) {
      first.step = sniffer.on_timeout();
      break;
    }
    // poll(2): a socket may be reported as readable and have nothing; then it is asked again.
    const ssize_t n = ready < 0 ? -1 : ::recv(fd, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      first.error = errno;
      break;
    }
    silent = false;
    const Bytes bytes = chunk.first(static_cast<std::size_t>(n));
    first.step = n > 0 ? sniffer.feed(bytes) : sniffer.on_eof();
    first.rest = bytes.subspan(first.step.consumed);
  }
  return first;
}

}  // namespace ppv2
