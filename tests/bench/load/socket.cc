#include "tests/bench/load/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

constexpr unsigned kSources = 8;
constexpr int kBacklog = 4096;
// The largest single send: big enough to amortise the call, small enough to stay in the second-level cache.
constexpr std::size_t kFiller = 256 * 1024;
constexpr int kConnectTimeoutMs = 5000;

void set_option(int fd, int level, int option, int value) {
  if (setsockopt(fd, level, option, &value, sizeof value) != 0) stop_errno("cannot set socket option {}", option);
}

}  // namespace

sockaddr_in parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (colon == std::string_view::npos) stop("'{}' is no HOST:PORT", text);
  const std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) stop("'{}' is no port", digits);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) stop("'{}' is no IPv4 address", host);
  address.sin_port = htons(port);
  return address;
}

std::string address_text(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> host{};
  inet_ntop(AF_INET, &address.sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), ntohs(address.sin_port));
}

sockaddr_in local_address(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) stop_errno("cannot read a local address");
  return address;
}

sys::UniqueFd listen_on(const sockaddr_in& address) {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) stop_errno("cannot create a socket");
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);  // accepted sockets inherit it
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd.get(), kBacklog) != 0) {
    stop_errno("cannot listen on {}", address_text(address));
  }
  return fd;
}

sys::UniqueFd start_connect(const sockaddr_in& to, unsigned turn) {
  sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + turn % kSources);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0) return {};
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) return {};
  return fd;
}

sys::UniqueFd connect_now(const sockaddr_in& to, unsigned turn) {
  sys::UniqueFd fd = start_connect(to, turn);
  if (!fd) stop_errno("cannot connect to {}", address_text(to));
  pollfd wait{.fd = fd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&wait, 1, kConnectTimeoutMs) != 1) stop("no connection to {} within 5 s", address_text(to));
  socklen_t length = sizeof errno;
  int error = 0;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  if (error != 0) stop_errno("cannot connect to {}", address_text(to));
  return fd;
}

ssize_t discard(int fd, std::size_t most) {
  return recv(fd, nullptr, most, MSG_TRUNC);
}

ssize_t send_filler(int fd, std::size_t most) {
  static const std::vector<char> filler(kFiller, 'r');
  return send(fd, filler.data(), std::min(most, kFiller), MSG_NOSIGNAL);
}

std::string congestion_control(int fd) {
  std::array<char, 16> name{};
  socklen_t length = name.size();
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return "unknown";
  return name.data();
}

}  // namespace ravelin::bench
