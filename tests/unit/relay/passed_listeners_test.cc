#include "relay/passed_listeners.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "relay/socket.h"
#include "sys/descriptor.h"
#include "sys/unix_listener.h"

using namespace ravelin;
using namespace ravelin::relay;

namespace {

// What a service manager sets before it starts a process.
void announce(pid_t pid, int count) {
  ::setenv("LISTEN_PID", std::to_string(pid).c_str(), 1);
  ::setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  ::setenv("LISTEN_FDNAMES", "name", 1);
}

// The one passed socket, or why it is none.
sys::Result<std::vector<Inheritance::Listener>> pass(sys::UniqueFd fd) {
  announce(::getpid(), 1);
  return take_passed_listeners(fd.release());
}

std::string refusal(sys::UniqueFd fd) {
  const auto taken = pass(std::move(fd));
  REQUIRE(!taken);
  return taken.error().text();
}

sys::UniqueFd listening_on(const sys::SocketAddress& address) {
  auto fd = listen_on(address, 16);
  REQUIRE(fd);
  return std::move(*fd);
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

const auto kLoopback = sys::SocketAddress::ipv4({127, 0, 0, 1}, 0);

}  // namespace

TEST_CASE("a socket that a service manager has opened is a listener with its address") {
  auto fd = listening_on(kLoopback);
  const auto address = *sys::SocketAddress::local_of(fd.get());
  ::fcntl(fd.get(), F_SETFD, 0);
  const auto taken = pass(std::move(fd));
  REQUIRE(taken);
  REQUIRE(taken->size() == 1);
  CHECK(taken->front().key == listener_key(address));
  CHECK((::fcntl(taken->front().fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(taken->front().fd.get(), F_GETFL) & O_NONBLOCK) != 0);
}

TEST_CASE("sockets that were passed to another process are left alone, and no child finds the variables") {
  const auto fd = listening_on(kLoopback);
  announce(::getppid(), 1);
  const auto taken = take_passed_listeners(fd.get());
  REQUIRE(taken);
  CHECK(taken->empty());
  CHECK(sys::get_option<int>(fd.get(), SOL_SOCKET, SO_ACCEPTCONN) == 1);
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) CHECK(std::getenv(variable) == nullptr);
}

TEST_CASE("variables that are no numbers pass nothing") {
  announce(::getpid(), 1);
  ::setenv("LISTEN_FDS", "1x", 1);
  const auto taken = take_passed_listeners();
  REQUIRE(taken);
  CHECK(taken->empty());
}

TEST_CASE("what cannot be a listener is refused, and the refusal says how to pass it") {
  CHECK(has(refusal(sys::UniqueFd(::open("/dev/null", O_RDONLY))), "ListenStream="));
  CHECK(has(refusal(sys::UniqueFd(::socket(AF_INET, SOCK_DGRAM, 0))), "ListenStream="));
  CHECK(has(refusal(sys::UniqueFd(::socket(AF_INET, SOCK_STREAM, 0))), "Accept=no"));
  auto unix_socket = sys::listen_on_unix("@ravelin-passed-" + std::to_string(::getpid()), 16);
  REQUIRE(unix_socket);
  CHECK(has(refusal(std::move(unix_socket->fd)), "Unix socket"));
}

TEST_CASE("a socket for both families is refused, because the settings have one for each") {
  sys::UniqueFd fd(::socket(AF_INET6, SOCK_STREAM, 0));
  const sockaddr_in6 any{.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
  sys::set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::listen(fd.get(), 1) == 0);
  CHECK(has(refusal(std::move(fd)), "BindIPv6Only=ipv6-only"));
  CHECK(pass(listening_on(sys::SocketAddress::ipv6({}, 0))));
}
