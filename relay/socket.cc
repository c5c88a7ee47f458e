#include "relay/socket.h"

// linux/tcp.h has the newer fields of tcp_info; netinet/tcp.h, which clashes with it, does not.
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

// States of net/tcp_states.h, which tcp_info reports as numbers.
enum TcpState : std::uint8_t { kTimeWait = 6, kClose = 7, kCloseWait = 8, kLastAck = 9, kClosing = 11 };

int seconds(Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(duration).count());
}

// A connection gets into CLOSE with the other side's FIN and without. TCP_INQ counts a FIN among the unread bytes, also
// one that has been read, and SIOCINQ does not.
bool fin_was_received_before_close(int fd, int unread) {
  if (!sys::set_option(fd, IPPROTO_TCP, TCP_INQ, 1)) return false;
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) < 0) return false;
  const cmsghdr* told = CMSG_FIRSTHDR(&message);
  if (told == nullptr || told->cmsg_level != IPPROTO_TCP || told->cmsg_type != TCP_CM_INQ) return false;
  int waiting = 0;
  std::memcpy(&waiting, CMSG_DATA(told), sizeof waiting);
  return waiting > unread;
}

bool fin_was_received(int fd, std::uint8_t state, int unread) {
  if (state == kClose) return fin_was_received_before_close(fd, unread);
  return state == kCloseWait || state == kClosing || state == kLastAck || state == kTimeWait;
}

bool read_info(int fd, tcp_info& info) {
  socklen_t length = sizeof info;
  info = {};
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
}

}  // namespace

sys::Result<void> prepare_stream(const SocketOptions& options, int fd) {
  if (!sys::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1)) return {};  // not TCP
  // Urgent data stays in the stream: a byte is a byte.
  sys::set_option(fd, SOL_SOCKET, SO_OOBINLINE, 1);
  const std::string& algorithm = options.congestion_control;
  if (!algorithm.empty() &&
      ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(), static_cast<socklen_t>(algorithm.size())) != 0) {
    return sys::fail(errno, "cannot use congestion_control {}, see net.ipv4.tcp_allowed_congestion_control", algorithm);
  }
  struct Shape {
    int level;
    int option;
    std::uint64_t value;
    std::string_view name;
  };
  const std::array<Shape, 4> shapes{{{IPPROTO_TCP, TCP_MAXSEG, options.max_segment, "max_segment"},
                                     {SOL_SOCKET, SO_MARK, options.mark, "mark, which needs CAP_NET_ADMIN,"},
                                     {SOL_SOCKET, SO_RCVBUF, options.receive_buffer.bytes, "receive_buffer"},
                                     {SOL_SOCKET, SO_SNDBUF, options.send_buffer.bytes, "send_buffer"}}};
  for (const auto& [level, option, value, name] : shapes) {
    if (value == 0 || sys::set_option(fd, level, option, static_cast<int>(value))) continue;
    return sys::fail(errno, "cannot set {} to {}", name, value);
  }
  return {};
}

void guard_against_silence(const SocketOptions& options, int fd) {
  if (options.keepalive_idle.count() > 0) {
    if (!sys::set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(options.keepalive_idle))) return;  // not TCP
    sys::set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(options.keepalive_interval));
    sys::set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(options.keepalive_probes));
    sys::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  }
  if (options.user_timeout.count() > 0) {
    sys::set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(options.user_timeout.count()));
  }
}

void forget_options(int fd) {
  constexpr int kBufferLock = 72;  // SO_BUF_LOCK, Linux 5.14
  struct Plain {
    int level;
    int option;
  };
  constexpr std::array<Plain, 5> kPlain{{{SOL_SOCKET, SO_KEEPALIVE},
                                         {IPPROTO_TCP, TCP_USER_TIMEOUT},
                                         {IPPROTO_TCP, TCP_MAXSEG},
                                         {SOL_SOCKET, SO_MARK},
                                         {SOL_SOCKET, kBufferLock}}};
  for (const auto& [level, option] : kPlain) sys::set_option(fd, level, option, 0);
  std::array<char, 16> algorithm{};
  socklen_t length = algorithm.size();
  const sys::UniqueFd fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::getsockopt(fresh.get(), IPPROTO_TCP, TCP_CONGESTION, algorithm.data(), &length) != 0) return;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm.data(), length);
}

sys::Result<sys::UniqueFd> listen_on(const sys::SocketAddress& address, int backlog) {
  sys::UniqueFd fd(::socket(address.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return sys::fail(errno, "cannot make a socket for {}", address.text());
  sys::set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family == AF_INET6) sys::set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  sockaddr_storage storage{};
  const socklen_t length = address.to(storage);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 || ::listen(fd.get(), backlog) != 0) {
    return sys::fail(errno, "cannot listen on {}", address.text());
  }
  return fd;
}

sys::Result<void> come_from(const sys::SocketAddress& source, int fd) {
  sockaddr_storage storage{};
  const socklen_t length = source.to(storage);
  sys::set_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0) return {};
  return sys::fail(errno, "cannot come from {}", source.host());
}

ssize_t peek(int fd, std::span<std::byte> buffer) {
  for (;;) {
    const ssize_t seen = ::recv(fd, buffer.data(), buffer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen >= 0 || errno != EINTR) return seen;
  }
}

void finish_sending(int fd) {
  ::shutdown(fd, SHUT_WR);
}

void reset(int fd) {
  const sockaddr nowhere{.sa_family = AF_UNSPEC};
  if (::connect(fd, &nowhere, sizeof nowhere) != 0) ::shutdown(fd, SHUT_RDWR);
}

// A packet may arrive between the two calls that make one reading, so read again until TCP_INFO stands still.
std::optional<TcpFacts> tcp_facts(int fd, bool connected_by_us) {
  constexpr int kPatience = 100;
  tcp_info before{};
  if (!read_info(fd, before)) return std::nullopt;
  for (int i = 0;; ++i) {
    int unread = 0;
    int unacknowledged = 0;
    ::ioctl(fd, SIOCINQ, &unread);
    ::ioctl(fd, SIOCOUTQ, &unacknowledged);
    tcp_info after{};
    if (!read_info(fd, after)) return std::nullopt;
    const bool still = before.tcpi_bytes_received == after.tcpi_bytes_received &&
                       before.tcpi_bytes_acked == after.tcpi_bytes_acked && before.tcpi_state == after.tcpi_state;
    before = after;
    if (!still && i < kPatience) continue;
    TcpFacts facts{.unread = static_cast<std::uint64_t>(unread), .closed = after.tcpi_state == kClose};
    // Taken first: the look at what waits would take it too.
    if (facts.closed) facts.error = sys::get_option<int>(fd, SOL_SOCKET, SO_ERROR).value_or(EBADF);
    facts.ended = fin_was_received(fd, after.tcpi_state, unread);
    // The SYN counts as one acknowledged byte on the side that connected, a FIN as one received and one queued byte.
    const std::uint64_t sent = after.tcpi_bytes_acked + static_cast<std::uint64_t>(unacknowledged);
    facts.received = after.tcpi_bytes_received - (facts.ended && after.tcpi_bytes_received > 0 ? 1 : 0);
    facts.sent = sent - (connected_by_us && sent > 0 ? 1 : 0);
    return facts;
  }
}

std::uint32_t rtt_us(int fd) {
  tcp_info info{};
  return read_info(fd, info) ? info.tcpi_rtt : 0;
}

}  // namespace ravelin::relay
