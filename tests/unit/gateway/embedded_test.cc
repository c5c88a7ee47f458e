// A gateway inside this program, over real sockets: clients write headers, and the server asks at accept who came.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <gateway/gateway.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "headers.h"
#include "sys/descriptor.h"
#include "sys/unique_fd.h"

using namespace ravelin;
using namespace ravelin::gateway;
using namespace ravelin::gateway::test;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kConnections = 1'000;
#else
constexpr unsigned kConnections = 10'000;
#endif
constexpr unsigned kClients = 4;

sys::UniqueFd patient_socket(int family) {
  sys::UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 60, .tv_usec = 0};
  REQUIRE(sys::set_option(fd.get(), SOL_SOCKET, SO_RCVTIMEO, limit));
  return fd;
}

// What a client tells the server, so that the server can check the gateway's word for it.
struct Ticket {
  std::uint16_t claimed_port = 0;
  std::uint16_t own_port = 0;
};

// Accepts, asks the gateway at once, and only then reads what the client has to say about itself.
class Server {
 public:
  explicit Server(int family) : listener_(patient_socket(family)) {
    sockaddr_storage address{};
    socklen_t length = 0;
    if (family == AF_INET) {
      length = at("127.0.0.1:0").to(address);
    } else {
      address.ss_family = AF_UNIX;  // autobound
      length = sizeof(sa_family_t);
    }
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(::listen(listener_.get(), 1024) == 0);
    const auto bound = sys::SocketAddress::local_of(listener_.get()).value();
    address_ = bound.text();
  }

  [[nodiscard]] const std::string& address() const { return address_; }

  void serve(const Gateway& gateway, unsigned connections) {
    thread_ = std::thread([this, &gateway, connections] {
      for (unsigned i = 0; i < connections; ++i) answer_one(gateway);
    });
  }
  void wait() { thread_.join(); }

  unsigned unknown = 0;
  unsigned wrong = 0;
  unsigned answered = 0;

 private:
  void answer_one(const Gateway& gateway) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const sys::UniqueFd fd(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC));
    const auto peer = gateway.find_peer(reinterpret_cast<const sockaddr*>(&from), length);
    Ticket ticket;
    if (!fd || ::recv(fd.get(), &ticket, sizeof ticket, MSG_WAITALL) != sizeof ticket) return;
    if (!peer) {
      ++unknown;
    } else if (peer->measured().port != ticket.own_port || peer->claimed()->port != ticket.claimed_port ||
               !peer->claim_trusted() || peer->edge_session() != kEdgeSession || peer->edge() != "fra-1") {
      ++wrong;
    }
    if (::send(fd.get(), "!", 1, MSG_NOSIGNAL) == 1) ++answered;
  }

  sys::UniqueFd listener_;
  std::string address_;
  std::thread thread_;
};

Options options_for(const Server& server) {
  return {.listeners = {{.address = "127.0.0.1:0", .trusted_edges = {"127.0.0.0/8"}}},
          .inner = server.address(),
          .loops = 2,
          .log_descriptor = -1};
}

// One session from header to answer; false if it was not answered. Ends with a reset, which leaves no port in
// TIME_WAIT.
bool visit(const ppv2::Address& gateway, std::uint16_t claimed_port) {
  const auto fd = patient_socket(AF_INET);
  sockaddr_storage to{};
  const socklen_t length = gateway.to(to);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), length) != 0) return false;
  const Ticket ticket{.claimed_port = claimed_port, .own_port = sys::SocketAddress::local_of(fd.get()).value().port};
  const auto bytes = edge_header(fmt::format("203.0.113.9:{}", claimed_port)) +
                     octets({reinterpret_cast<const char*>(&ticket), sizeof ticket});
  char answer = 0;
  const bool good =
      ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0 && ::recv(fd.get(), &answer, 1, 0) == 1;
  static_cast<void>(sys::set_option(fd.get(), SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0}));
  return good;
}

// `total` sessions of several clients at once; how many were answered.
unsigned visit_often(const ppv2::Address& gateway, unsigned total) {
  std::atomic<unsigned> next{0};
  std::atomic<unsigned> answered{0};
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      for (unsigned number = next++; number < total; number = next++) {
        if (visit(gateway, static_cast<std::uint16_t>(number + 1))) ++answered;
      }
    });
  }
  for (auto& client : clients) client.join();
  return answered;
}

void eventually_empty(const Gateway& gateway) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (gateway.peers() != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  CHECK(gateway.peers() == 0);
}

// Threads of this process that do not block `signal`, by proc(5).
std::size_t threads_open_to(int signal) {
  std::size_t open = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("SigBlk:")) continue;
      const auto blocked = std::stoull(line.substr(7), nullptr, 16);
      open += (blocked >> (signal - 1) & 1) == 0 ? 1 : 0;
    }
  }
  return open;
}

}  // namespace

TEST_CASE("every server that asks at accept finds its peer, and the map is empty when all have gone") {
  Server server(AF_INET);
  auto gateway = Gateway::start(options_for(server));
  REQUIRE(gateway);
  server.serve(**gateway, kConnections);
  CHECK(visit_often((*gateway)->addresses().at(0), kConnections) == kConnections);
  server.wait();
  CHECK(server.answered == kConnections);
  CHECK(server.unknown == 0);
  CHECK(server.wrong == 0);
  eventually_empty(**gateway);
}

TEST_CASE("a server behind a Unix socket finds its peers by the names that the kernel gave them") {
  Server server(AF_UNIX);
  auto gateway = Gateway::start(options_for(server));
  REQUIRE(gateway);
  server.serve(**gateway, 200);
  CHECK(visit_often((*gateway)->addresses().at(0), 200) == 200);
  server.wait();
  CHECK(server.unknown == 0);
  CHECK(server.wrong == 0);
  eventually_empty(**gateway);
}

TEST_CASE("who did not come through the gateway is unknown") {
  Server server(AF_INET);
  auto gateway = Gateway::start(options_for(server));
  REQUIRE(gateway);
  CHECK_FALSE((*gateway)->find_peer("ipv4:127.0.0.1:4711"));
  CHECK_FALSE((*gateway)->find_peer("127.0.0.1:4711"));
  CHECK_FALSE((*gateway)->find_peer("no address at all"));
}

TEST_CASE("a gateway that cannot start says why and leaves nothing behind") {
  Server server(AF_INET);
  auto options = options_for(server);
  const auto first = Gateway::start(options);
  REQUIRE(first);
  options.listeners[0].address = fmt::format("127.0.0.1:{}", (*first)->addresses().at(0).port);
  const auto taken = Gateway::start(options);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == EADDRINUSE);
  options.listeners[0].trusted_edges = {"everybody"};
  const auto wrong = Gateway::start(options);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what.find("everybody") != std::string::npos);
}

TEST_CASE("a gateway drains when its sessions have ended, and a program's signals never reach its threads") {
  Server server(AF_INET);
  const std::size_t before = threads_open_to(SIGPIPE);
  CHECK(before > 0);
  auto gateway = Gateway::start(options_for(server));
  REQUIRE(gateway);
  CHECK(threads_open_to(SIGPIPE) == before);
  CHECK(threads_open_to(SIGTERM) == before);
  server.serve(**gateway, 1);
  CHECK(visit((*gateway)->addresses().at(0), 1));
  server.wait();
  CHECK((*gateway)->drain(60s));
  CHECK((*gateway)->sessions() == 0);
}

TEST_CASE("a gateway may be drained again by who has more patience, and by several threads at once") {
  Server server(AF_INET);
  auto gateway = Gateway::start(options_for(server));
  REQUIRE(gateway);
  server.serve(**gateway, 1);
  auto client = patient_socket(AF_INET);
  sockaddr_storage to{};
  const socklen_t length = (*gateway)->addresses().at(0).to(to);
  REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&to), length) == 0);
  REQUIRE(::send(client.get(), "x", 1, MSG_NOSIGNAL) == 1);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while ((*gateway)->sessions() == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  CHECK_FALSE((*gateway)->drain(1ms));
  std::array<bool, 2> drained{};
  std::thread one([&] { drained[0] = (*gateway)->drain(60s); });
  std::thread other([&] { drained[1] = (*gateway)->drain(60s); });
  client.reset();
  one.join();
  other.join();
  CHECK(drained[0]);
  CHECK(drained[1]);
  CHECK((*gateway)->drain(1ms));
  server.wait();
}

TEST_CASE("a gateway for which the system has no descriptors is an error, not an exception") {
  Server server(AF_INET);
  const auto options = options_for(server);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  ::close(next);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(next), .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto gateway = Gateway::start(options);
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE_FALSE(gateway);
  CHECK(gateway.error().what.find("cannot start") == 0);
}
