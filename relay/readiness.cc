#include "relay/readiness.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace ravelin::relay {
namespace {

constexpr int kBatch = 256;
constexpr std::uint64_t kLoopToken = ~std::uint64_t{0};

int new_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::runtime_error("epoll_create1: no descriptors or memory left");
  return fd;
}

// -1 is for ever.
int shorter(int one, int other) {
  if (one < 0 || other < 0) return std::max(one, other);
  return std::min(one, other);
}

}  // namespace

Readiness::Readiness(sys::Loop& loop, OnEvent on_event, std::function<void()> on_batch_end)
    : loop_(loop), on_event_(std::move(on_event)), on_batch_end_(std::move(on_batch_end)), epoll_(new_epoll()) {
  epoll_event event{};
  event.events = EPOLLIN;  // level-triggered: what is left over is told again
  event.data.u64 = kLoopToken;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, loop_.descriptor(), &event) != 0) {
    throw std::runtime_error("epoll_ctl: no memory left");
  }
}

sys::Result<void> Readiness::add(int fd, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
  event.data.u64 = token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return sys::fail(errno, "epoll_ctl");
  return {};
}

void Readiness::remove(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Readiness::wait(int patience) {
  const int loop_patience = loop_.patience();
  bool loop_is_due = loop_patience == 0;
  std::array<epoll_event, kBatch> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kBatch, shorter(patience, loop_patience));
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kLoopToken) {
      loop_is_due = true;
    } else {
      on_event_({.token = event.data.u64, .flags = event.events});
    }
  }
  on_batch_end_();
  if (loop_is_due) loop_.run_due();
}

}  // namespace ravelin::relay
