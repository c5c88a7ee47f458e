#include "tests/bench/load/origin_session.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

#include "tests/bench/load/proxy_header.h"
#include "tests/bench/load/socket.h"

namespace ravelin::bench {
namespace {

constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr std::size_t kSlowStep = 64 * 1024;
constexpr std::size_t kMirrorStep = 64 * 1024;
constexpr std::size_t kLongestPrelude = 4096;

bool would_block(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace

OriginSession::OriginSession(sys::UniqueFd fd, Poller& poller, Counters& counters, SessionOwner& owner)
    : fd_(std::move(fd)), poller_(poller), counters_(counters), owner_(owner), watched_(EPOLLIN) {
  poller_.add(fd_.get(), watched_, *this);
}

void OriginSession::on_ready(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) return end(false);
  if (!working_) {
    read_prelude();
    return;
  }
  if ((events & EPOLLOUT) != 0) order_.task == Task::mirror ? write_mirror() : write_some();
  if (ended_) return;
  if ((events & EPOLLIN) != 0) order_.task == Task::mirror ? read_mirror() : read_some();
  // A stalled session watches nothing; a hang-up is all that can still wake it.
  if (!ended_ && watched_ == 0 && (events & EPOLLHUP) != 0) end(true);
}

void OriginSession::read_prelude() {
  std::array<char, kLongestPrelude> bytes;
  const ssize_t got = recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (would_block(got)) return;
  if (got <= 0) return end(got == 0);
  prelude_.append(bytes.data(), static_cast<std::size_t>(got));
  if (take_prelude()) begin();
}

// Header, order, and whether both are complete. What follows them stays in prelude_.
bool OriginSession::take_prelude() {
  const ProxyHeader header = read_proxy_header(prelude_);
  const bool has_order = header.state == HeaderState::complete && prelude_.size() >= header.length + sizeof order_;
  if (header.state == HeaderState::need_more || (header.state == HeaderState::complete && !has_order)) {
    if (prelude_.size() < kLongestPrelude) return false;
    count(counters_.header_wrong);
    end(false);
    return false;
  }
  if (has_order) std::memcpy(&order_, prelude_.data() + header.length, sizeof order_);
  const bool named_wrong = header.kind != HeaderKind::none && header.source_port != order_.client_port;
  if (!has_order || order_.magic != kOrderMagic || named_wrong) {
    count(counters_.header_wrong);
    end(false);
    return false;
  }
  count(header.kind == HeaderKind::v2   ? counters_.header_v2
        : header.kind == HeaderKind::v1 ? counters_.header_v1
                                        : counters_.header_none);
  prelude_.erase(0, header.length + sizeof order_);
  return true;
}

void OriginSession::begin() {
  working_ = true;
  const std::uint64_t early = prelude_.size();
  if (order_.task == Task::mirror) {
    count(counters_.received, early);
    return write_mirror();
  }
  prelude_ = std::string();
  if (early > 0) took(early);
  if (ended_) return;
  switch (order_.task) {
    case Task::source:
    case Task::both:
      return watch(EPOLLIN | EPOLLOUT);
    case Task::stall:
      return watch(0);
    case Task::slow:
      watch(0);
      return owner_.tick(*this);
    case Task::sink:
    case Task::answer:
    case Task::mirror:
      return;
  }
}

void OriginSession::read_some() {
  const ssize_t got = discard(fd_.get(), kReadAtOnce);
  if (would_block(got)) return;
  if (got < 0) return end(false);
  if (got == 0) return end(true);  // close() with nothing left unread answers a FIN with a FIN
  took(static_cast<std::uint64_t>(got));
}

void OriginSession::read_slowly() {
  const ssize_t got = discard(fd_.get(), kSlowStep);
  if (would_block(got)) return;
  if (got <= 0) return end(got == 0);
  took(static_cast<std::uint64_t>(got));
}

void OriginSession::took(std::uint64_t bytes) {
  count(counters_.received, bytes);
  if (order_.task != Task::answer) return;
  question_got_ += bytes;
  while (question_got_ >= order_.question) {
    question_got_ -= order_.question;
    owed_ += order_.answer;
    count(counters_.answered);
  }
  if (owed_ > 0) write_some();
}

void OriginSession::write_some() {
  const bool endless = order_.task != Task::answer;
  const ssize_t sent = send_filler(fd_.get(), endless ? kReadAtOnce : owed_);
  if (sent < 0 && !would_block(sent)) return end(false);
  const auto bytes = static_cast<std::uint64_t>(std::max<ssize_t>(0, sent));
  count(counters_.sent, bytes);
  if (endless) return;
  owed_ -= bytes;
  watch(owed_ > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// One step is in memory at a time: nothing is read before it has been sent back.
void OriginSession::write_mirror() {
  if (!prelude_.empty()) {
    const ssize_t sent = send(fd_.get(), prelude_.data(), prelude_.size(), MSG_NOSIGNAL);
    if (sent < 0 && !would_block(sent)) return end(false);
    const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(0, sent));
    count(counters_.sent, bytes);
    prelude_.erase(0, bytes);
  }
  watch(prelude_.empty() ? EPOLLIN : EPOLLOUT);
}

void OriginSession::read_mirror() {
  prelude_.resize(kMirrorStep);
  const ssize_t got = recv(fd_.get(), prelude_.data(), prelude_.size(), 0);
  prelude_.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  if (would_block(got)) return;
  if (got < 0) return end(false);
  if (got == 0) return end(true);
  count(counters_.received, static_cast<std::uint64_t>(got));
  write_mirror();
}

void OriginSession::watch(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  poller_.change(fd_.get(), events, *this);
}

void OriginSession::end(bool clean) {
  if (ended_) return;
  ended_ = true;
  if (!clean) count(counters_.resets);
  owner_.ended(*this);
}

}  // namespace ravelin::bench
