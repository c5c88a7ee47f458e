#include "relay/keeper_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cassert>
#include <cstring>

#include "relay/clock.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMostDescriptors);

// A burst of connections must fit while the keeper waits for a processor; net.core.wmem_max caps it.
constexpr int kSendBuffer = 1 << 20;

std::vector<sys::UniqueFd> take_descriptors(const msghdr& message) {
  std::vector<sys::UniqueFd> fds;
  for (const cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

sys::Result<std::pair<KeeperChannel, KeeperChannel>> KeeperChannel::pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return sys::fail(errno, "cannot make a channel between keeper and worker");
  }
  for (const int end : ends) sys::set_option(end, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  return std::pair{KeeperChannel(sys::UniqueFd(ends[0])), KeeperChannel(sys::UniqueFd(ends[1]))};
}

sys::Result<void> KeeperChannel::send(const KeeperMessage& message, std::span<const int> fds) {
  assert((fds.size() == descriptors_of(message) || !is_known(message.kind)) && fds.size() <= kMostDescriptors);
  encode(message, buffer_);
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, kControlBytes> control;
  if (!fds.empty()) {
    packet.msg_control = control.data();
    packet.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&packet);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(fd_.get(), &packet, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno != EINTR) return sys::fail(errno, "cannot send to the other end of the keeper's channel");
  }
  return {};
}

sys::Result<void> KeeperChannel::send_waiting(const KeeperMessage& message, std::span<const int> fds, int patience_ms) {
  const std::int64_t deadline = monotonic_ms() + patience_ms;
  for (;;) {
    auto sent = send(message, fds);
    if (sent || (sent.error().code != EAGAIN && sent.error().code != ETOOMANYREFS)) return sent;
    if (monotonic_ms() >= deadline) return sent;
    // Descriptors on the way count against the user, whoever sent them, and no event tells when they have arrived.
    pollfd room{.fd = fd_.get(), .events = static_cast<short>(sent.error().code == EAGAIN ? POLLOUT : 0), .revents = 0};
    (void)::poll(&room, 1, sent.error().code == EAGAIN ? 100 : 1);
  }
}

Received KeeperChannel::receive() {
  buffer_.resize(kMostMessageBytes);
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  alignas(cmsghdr) std::array<char, kControlBytes> control;
  for (;;) {
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = control.data();
    packet.msg_controllen = control.size();
    const ssize_t length = ::recvmsg(fd_.get(), &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // ECONNRESET says once that the other end is gone with messages of ours unread; its own still follow.
    if (length < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    if (length < 0 && errno == EAGAIN) return {.state = Received::State::empty};
    if (length <= 0) return {.state = Received::State::closed};
    Received received{.fds = take_descriptors(packet)};
    auto message = decode(std::span(buffer_).first(static_cast<std::size_t>(length)));
    const bool whole = (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (message && !is_known(message->kind)) received.fds.clear();
    if (!message || !whole || received.fds.size() != descriptors_of(*message)) {
      return {.state = Received::State::broken};
    }
    received.state = Received::State::message;
    received.message = std::move(*message);
    return received;
  }
}

bool KeeperChannel::wait(int patience_ms) const {
  const std::int64_t deadline = monotonic_ms() + patience_ms;
  for (;;) {
    const std::int64_t left = patience_ms < 0 ? -1 : std::max<std::int64_t>(0, deadline - monotonic_ms());
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready == 0) return false;
  }
}

}  // namespace ravelin::relay
