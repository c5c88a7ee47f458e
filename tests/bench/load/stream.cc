#include "tests/bench/load/stream.h"

#include <sys/socket.h>

#include <cerrno>

#include "tests/bench/load/socket.h"
#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

constexpr std::size_t kAtOnce = 1 << 20;

}  // namespace

Stream::Stream(Poller& poller, const sockaddr_in& to, unsigned turn, Task task, Ways ways)
    : poller_(poller), fd_(connect_now(to, turn)) {
  const Order order{.task = task, .client_port = ntohs(local_address(fd_.get()).sin_port)};
  if (send(fd_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order) stop_errno("cannot send an order");
  poller_.add(fd_.get(), (ways.sends ? EPOLLOUT : 0U) | (ways.receives ? EPOLLIN : 0U), *this);
}

void Stream::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    const ssize_t sent = send_filler(fd_.get(), kAtOnce);
    if (sent < 0 && errno != EAGAIN) return stop_with(errno);
    if (sent > 0) sent_ += static_cast<std::uint64_t>(sent);
  }
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) {
    const ssize_t got = discard(fd_.get(), kAtOnce);
    if (got < 0 && errno != EAGAIN) return stop_with(errno);
    if (got == 0) return stop_with(0);
    if (got > 0) received_ += static_cast<std::uint64_t>(got);
  }
}

void Stream::finish() {
  if (done_) return;
  shutdown(fd_.get(), SHUT_WR);
  poller_.change(fd_.get(), EPOLLIN, *this);
}

void Stream::stop_with(int error) {
  done_ = true;
  error_ = error;
  fd_.reset();
}

}  // namespace ravelin::bench
