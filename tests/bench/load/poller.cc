#include "tests/bench/load/poller.h"

#include <array>
#include <cerrno>
#include <ctime>

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

constexpr int kBatch = 256;

timespec time_left(Clock::time_point deadline) {
  using std::chrono::nanoseconds;
  const auto left = std::max(nanoseconds::zero(), nanoseconds(deadline - Clock::now()));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
}

}  // namespace

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) stop_errno("cannot create an epoll descriptor");
}

void Poller::add(int fd, std::uint32_t events, Ready& handler) {
  epoll_event event{.events = events, .data = {.ptr = &handler}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) stop_errno("cannot watch descriptor {}", fd);
}

void Poller::change(int fd, std::uint32_t events, Ready& handler) {
  epoll_event event{.events = events, .data = {.ptr = &handler}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) stop_errno("cannot watch descriptor {} anew", fd);
}

void Poller::turn(Clock::time_point deadline) {
  std::array<epoll_event, kBatch> events;
  const timespec left = time_left(deadline);
  const int count = epoll_pwait2(epoll_.get(), events.data(), kBatch, &left, nullptr);
  if (count < 0 && errno != EINTR) stop_errno("cannot wait for events");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    static_cast<Ready*>(event.data.ptr)->on_ready(event.events);
  }
}

void Poller::run_until(Clock::time_point deadline) {
  while (Clock::now() < deadline) turn(deadline);
}

}  // namespace ravelin::bench
