#include "tests/bench/load/origin.h"

#include <sys/socket.h>

#include <algorithm>

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto kSlowInterval = 50ms;
constexpr int kAcceptAtOnce = 64;

}  // namespace

Origin::Origin(sys::UniqueFd listener, Counters& counters) : listener_(std::move(listener)), counters_(counters) {
  poller_.add(listener_.get(), EPOLLIN, *this);
}

void Origin::on_ready(std::uint32_t) {
  for (int i = 0; i < kAcceptAtOnce; ++i) {
    sys::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) return;
      stop_errno("the origin cannot accept");
    }
    count(counters_.accepted);
    const int number = fd.get();
    SessionOwner& owner = *this;
    sessions_[number] = std::make_unique<OriginSession>(std::move(fd), poller_, counters_, owner);
  }
}

void Origin::ended(OriginSession& session) {
  std::erase(slow_, &session);
  auto node = sessions_.extract(session.fd());
  node.mapped()->close();
  count(counters_.closed);
  finished_.push_back(std::move(node.mapped()));
}

void Origin::tick(OriginSession& session) {
  slow_.push_back(&session);
}

void Origin::serve_slow_readers() {
  const std::vector<OriginSession*> now = slow_;  // a session that ends takes itself off the list
  for (OriginSession* session : now) session->read_slowly();
}

void Origin::run() {
  auto next_tick = Clock::now() + kSlowInterval;
  for (;;) {
    poller_.turn(slow_.empty() ? Clock::now() + 1h : next_tick);
    if (!slow_.empty() && Clock::now() >= next_tick) {
      serve_slow_readers();
      next_tick = Clock::now() + kSlowInterval;
    }
    finished_.clear();
  }
}

}  // namespace ravelin::bench
