#include "relay/readiness.h"

#include <sys/epoll.h>

#include <array>
#include <stdexcept>

namespace ravelin::relay {
namespace {

constexpr int kBatch = 256;

int new_epoll() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::runtime_error("epoll_create1: no descriptors or memory left");
  return fd;
}

}  // namespace

Readiness::Readiness(sys::Loop& loop, OnEvent on_event, std::function<void()> on_batch_end)
    : on_event_(std::move(on_event)),
      on_batch_end_(std::move(on_batch_end)),
      epoll_(new_epoll()),
      poll_(loop, epoll_.get(), [this](int, int) { deliver(); }) {
  poll_.start(UV_READABLE);
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

void Readiness::deliver() {
  std::array<epoll_event, kBatch> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kBatch, 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    on_event_({.token = event.data.u64, .flags = event.events});
  }
  on_batch_end_();
}

}  // namespace ravelin::relay
