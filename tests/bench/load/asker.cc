#include "tests/bench/load/asker.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "tests/bench/load/order.h"
#include "tests/bench/load/socket.h"

namespace ravelin::bench {
namespace {

bool would_block(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

// Enough filler to go into one segment with the order; a longer question follows by send_rest().
constexpr std::size_t kFirstFiller = 16 * 1024;

}  // namespace

void Asker::connect(unsigned turn) {
  since_ = Clock::now();
  fd_ = start_connect(to_, turn);
  if (!fd_) return fail(errno);
  state_ = State::connecting;
  watched_ = EPOLLOUT;
  poller_.add(fd_.get(), watched_, *this);
}

void Asker::close() {
  fd_.reset();
  state_ = State::closed;
}

void Asker::ask(Clock::time_point since) {
  since_ = since;
  unsent_ = sizes_.question;
  got_ = 0;
  state_ = State::asking;
  send_rest();
}

void Asker::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    if (state_ == State::connecting) return send_first();
    if (state_ == State::asking) send_rest();
  }
  if (state_ != State::closed && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) receive();
}

void Asker::send_first() {
  static std::array<char, kFirstFiller> filler{};
  Order order{.task = Task::answer,
              .client_port = ntohs(local_address(fd_.get()).sin_port),
              .question = sizes_.question,
              .answer = sizes_.answer};
  const std::size_t with_it = std::min<std::size_t>(filler.size(), sizes_.question);
  std::array<iovec, 2> parts = {iovec{&order, sizeof order}, iovec{filler.data(), with_it}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);  // reports a failed connect as well
  if (sent < static_cast<ssize_t>(sizeof order)) return fail(sent < 0 ? errno : EPROTO);
  unsent_ = sizes_.question + sizeof order - static_cast<std::size_t>(sent);
  got_ = 0;
  state_ = State::asking;
  send_rest();
}

void Asker::send_rest() {
  if (unsent_ > 0) {
    const ssize_t sent = send_filler(fd_.get(), unsent_);
    if (sent < 0 && !would_block(sent)) return fail(errno);
    if (sent > 0) unsent_ -= static_cast<std::size_t>(sent);
  }
  if (unsent_ == 0) state_ = State::listening;
  watch(unsent_ == 0 ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Asker::receive() {
  const ssize_t got = discard(fd_.get(), sizes_.answer + 1);  // one more, to see bytes that nobody asked for
  if (would_block(got)) return;
  if (got <= 0) return fail(got < 0 ? errno : ECONNRESET);
  got_ += static_cast<std::size_t>(got);
  if (state_ == State::quiet || got_ > sizes_.answer) return fail(EPROTO);
  if (got_ < sizes_.answer) return;
  state_ = State::quiet;
  owner_.answered(*this, Clock::now() - since_);
}

void Asker::fail(int error) {
  close();
  owner_.failed(*this, error);
}

void Asker::watch(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  poller_.change(fd_.get(), events, *this);
}

}  // namespace ravelin::bench
