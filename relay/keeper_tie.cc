#include "relay/keeper_tie.h"

#include <array>
#include <utility>

namespace ravelin::relay {
namespace {

constexpr std::size_t kEndsAtOnce = 64;
constexpr std::chrono::milliseconds kTellWithin{25};
constexpr std::chrono::seconds kBeat{2};
constexpr int kLastPatienceMs = 1'000;

}  // namespace

KeeperTie::KeeperTie(sys::Loop& loop, KeeperChannel channel, std::function<void(std::uint32_t count)> on_released,
                     std::function<void()> on_room)
    : channel_(std::move(channel)),
      on_released_(std::move(on_released)),
      on_room_(std::move(on_room)),
      poll_(loop, channel_.fd(), [this](int, int) { hear(); }),
      timer_(loop,
             [this] {
               timer_runs_ = false;
               tell_ends();
               if (std::exchange(short_of_room_, false)) on_room_();
             }),
      beat_(loop, [this] { (void)channel_.send({.kind = KeeperKind::beat}); }) {
  poll_.start(UV_READABLE);
  beat_.start(kBeat, kBeat);
}

// Descriptors go with the last item; ends that wait go along.
bool KeeperTie::send(std::span<const int> fds, int patience_ms) {
  if (lost_) return false;
  const auto sent = patience_ms > 0 ? channel_.send_waiting(message_, fds, patience_ms) : channel_.send(message_, fds);
  if (sent) return true;
  if (sent.error().code == EAGAIN || sent.error().code == ETOOMANYREFS) {
    short_of_room_ = true;
    if (!std::exchange(timer_runs_, true)) timer_.start(kTellWithin);
  } else {
    lose_keeper();
  }
  return false;
}

bool KeeperTie::hold(std::uint32_t slot, std::uint32_t generation, int client, int origin) {
  const std::array<int, 2> fds{client, origin};
  const std::uint32_t count = origin < 0 ? 1 : 2;
  message_.items.push_back({.a = slot, .b = generation, .c = count});
  const bool sent = send(std::span(fds).first(count), 0);
  if (sent) {
    message_.items.clear();
  } else if (!message_.items.empty()) {
    message_.items.pop_back();
  }
  return sent;
}

bool KeeperTie::hold_waiting(std::uint32_t slot, std::uint32_t generation, int client, int origin) {
  const std::array<int, 2> fds{client, origin};
  const std::uint32_t count = origin < 0 ? 1 : 2;
  message_.items.push_back({.a = slot, .b = generation, .c = count});
  const bool sent = send(std::span(fds).first(count), kLastPatienceMs);
  message_.items.clear();
  return sent;
}

void KeeperTie::let_go(std::uint32_t slot, std::uint32_t generation) {
  ++unreleased_;
  if (lost_) {
    on_released_(std::exchange(unreleased_, 0));
    return;
  }
  message_.items.push_back({.a = slot, .b = generation, .c = 0});
  if (message_.items.size() >= kEndsAtOnce) return tell_ends();
  if (!std::exchange(timer_runs_, true)) timer_.start(kTellWithin);
}

void KeeperTie::tell_ends() {
  if (message_.items.empty() || !send({}, 0)) return;
  message_.items.clear();
}

bool KeeperTie::hold_pipe(std::uint32_t index, int in, int out) {
  const std::array<int, 2> fds{in, out};
  pipe_.items = {{.a = index, .b = 2}};
  return !lost_ && channel_.send(pipe_, fds);
}

void KeeperTie::let_go_pipe(std::uint32_t index) {
  pipe_.items = {{.a = index, .b = 0}};
  // One that could not be told is replaced when the next pipe gets its place.
  (void)channel_.send(pipe_);
}

void KeeperTie::hear() {
  for (;;) {
    const Received received = channel_.receive();
    if (received.state == Received::State::empty) return;
    if (received.state != Received::State::message) return lose_keeper();
    if (received.message.kind != KeeperKind::released) continue;
    const std::uint32_t count = std::min(received.message.head().a, unreleased_);
    unreleased_ -= count;
    on_released_(count);
  }
}

// The control loop sees to another keeper. Until there is one nobody is to be waited for.
void KeeperTie::lose_keeper() {
  if (std::exchange(lost_, true)) return;
  poll_.stop();
  beat_.stop();
  message_.items.clear();
  on_released_(std::exchange(unreleased_, 0));
}

void KeeperTie::finish() {
  if (!message_.items.empty()) (void)send({}, kLastPatienceMs);
  poll_.stop();
  timer_.stop();
  beat_.stop();
}

}  // namespace ravelin::relay
