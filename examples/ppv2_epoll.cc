// An event loop with libppv2: each connection has a sniffer until its header has been decided, and is greeted by the
// client's real address. Usage: ppv2_epoll TRUSTED_CIDR; prints its port on 127.0.0.1.
//
// A header may come in any number of pieces. The sniffer keeps them, so a level-triggered poller never spins on bytes
// that were looked at and left in the socket. A real server also arms a timer from accept and calls on_timeout().
#include <netinet/in.h>
#include <ppv2/cidr.h>
#include <ppv2/sniffer.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>

namespace {

struct Connection {
  Connection(const ppv2::Address& from, bool trusted)
      : measured(from), sniffer({.policy = ppv2::Policy::require}, trusted) {}
  ppv2::Address measured;
  ppv2::Sniffer sniffer;
};

void greet(int fd, const Connection& connection, ppv2::Bytes behind) {
  std::array<char, ppv2::kAddressTextSize> text{};
  std::string answer = "hello ";
  answer += connection.sniffer.effective(connection.measured).text(text);
  answer += ", you said ";
  for (const ppv2::Bytes part : {connection.sniffer.pushback(), behind})
    answer.append(reinterpret_cast<const char*>(part.data()), part.size());
  if (::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) std::perror("send");
}

// True when the connection is done with.
bool on_readable(int fd, Connection& connection) {
  std::array<std::byte, 4096> chunk{};
  const ssize_t n = ::recv(fd, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (n < 0) return true;
  const ppv2::Bytes bytes(chunk.data(), static_cast<std::size_t>(n));
  const ppv2::Step step = n > 0 ? connection.sniffer.feed(bytes) : connection.sniffer.on_eof();
  if (step.action == ppv2::Action::wait) return false;
  if (step.action == ppv2::Action::reject) {
    std::fprintf(stderr, "refused at byte %u: %s\n", step.offset, ppv2::text(step.reason).data());
  } else {
    greet(fd, connection, bytes.subspan(step.consumed));
  }
  return true;
}

int serve(int listener, const ppv2::Cidr& proxies) {
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener}};
  ::epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wanted);
  std::unordered_map<int, std::unique_ptr<Connection>> connections;
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd != listener) {
        if (!on_readable(fd, *connections.at(fd))) continue;
        connections.erase(fd);
        ::close(fd);
        continue;
      }
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const auto measured = ppv2::Address::from(reinterpret_cast<sockaddr*>(&peer), length);
      connections[fd] = std::make_unique<Connection>(measured, proxies.contains(measured));
      wanted.data.fd = fd;
      ::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &wanted);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto proxies = ppv2::Cidr::parse(argc == 2 ? argv[1] : "");
  if (!proxies) return std::fprintf(stderr, "usage: %s TRUSTED_CIDR\n", argv[0]), 2;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in self{};
  self.sin_family = AF_INET;
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof self;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&self), length) != 0 || ::listen(listener, 128) != 0) return 1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&self), &length);
  std::printf("%d\n", ntohs(self.sin_port));
  std::fflush(stdout);
  return serve(listener, *proxies);
}
