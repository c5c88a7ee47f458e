// A blocking accept loop with libppv2, a thread for each connection: the header is taken off right after accept(), and
// the connection is greeted by the client's real address. Clients without a header are served as well, by the address
// they came from. Usage: ppv2_blocking TRUSTED_CIDR...; prints its port on 127.0.0.1.
//
// The header is read in the connection's thread and never in the accept loop, where one silent client would stop all.
#include <netinet/in.h>
#include <ppv2/blocking.h>
#include <ppv2/cidr.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

void serve(int fd, const ppv2::Address& measured, bool trusted) {
  ppv2::Sniffer sniffer({.policy = ppv2::Policy::sniff}, trusted);
  std::array<std::byte, 4096> chunk{};
  const ppv2::FirstBytes first = ppv2::take_header(fd, sniffer, chunk);
  if (!first.may_go_on()) {
    std::fprintf(stderr, "refused at byte %u: %s\n", first.step.offset, ppv2::text(first.step.reason).data());
    return;
  }
  std::array<char, ppv2::kAddressTextSize> text{};
  std::string answer = "hello ";
  answer += sniffer.effective(measured).text(text);
  answer += ", you said ";
  for (const ppv2::Bytes part : {sniffer.pushback(), first.rest})
    answer.append(reinterpret_cast<const char*>(part.data()), part.size());
  if (::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) std::perror("send");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<ppv2::Cidr> proxies;
  for (int i = 1; i < argc; ++i) {
    const auto range = ppv2::Cidr::parse(argv[i]);
    if (!range) return std::fprintf(stderr, "usage: %s TRUSTED_CIDR...\n", argv[0]), 2;
    proxies.push_back(*range);
  }
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in self{};
  self.sin_family = AF_INET;
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof self;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&self), length) != 0 || ::listen(listener, 128) != 0) return 1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&self), &length);
  std::printf("%d\n", ntohs(self.sin_port));
  std::fflush(stdout);
  while (true) {
    sockaddr_storage peer{};  // from accept itself: getpeername() fails once a client has gone
    length = sizeof peer;
    const int fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const auto measured = ppv2::Address::from(reinterpret_cast<sockaddr*>(&peer), length);
    std::thread([fd, measured, trusted = ppv2::contains(proxies, measured)] {
      serve(fd, measured, trusted);
      ::close(fd);
    }).detach();
  }
}
