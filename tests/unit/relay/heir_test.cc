#include "relay/heir.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "relay/socket.h"

using namespace ravelin;
using namespace ravelin::relay;

namespace {

// A client and what a listener has accepted of it.
struct Connection {
  Connection() {
    auto listener = listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 8);
    REQUIRE(listener);
    sockaddr_storage address{};
    const socklen_t length = sys::SocketAddress::local_of(listener->get())->to(address);
    client = sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
    accepted = sys::UniqueFd(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(accepted);
  }
  sys::UniqueFd client;
  sys::UniqueFd accepted;
};

// A worker that has these descriptors, starts its heir and is killed.
std::vector<Received> last_words(const SessionTable& table) {
  auto channel = KeeperChannel::pair();
  REQUIRE(channel);
  const pid_t worker = ::fork();
  REQUIRE(worker >= 0);
  if (worker == 0) {
    channel->first = {};
    const sys::UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (start_heir(table, channel->second, self)) ::raise(SIGKILL);
    ::_exit(1);
  }
  channel->second = {};
  int status = 0;
  REQUIRE(::waitpid(worker, &status, 0) == worker);
  REQUIRE(WIFSIGNALED(status));
  std::vector<Received> words;
  while (channel->first.wait(10'000)) {
    words.push_back(channel->first.receive());
    if (words.back().state == Received::State::closed) break;
  }
  return words;
}

bool is_same_socket(int fd, const Connection& connection) {
  return sys::SocketAddress::local_of(fd)->port == sys::SocketAddress::local_of(connection.accepted.get())->port;
}

}  // namespace

TEST_CASE("a client that was accepted and has no session yet is named when its worker dies") {
  auto table = SessionTable::create({.loops = 1, .sessions = 8, .pipes = 1});
  REQUIRE(table);
  const Connection session;
  const Connection newcomer;
  const Connection finished;
  const Connection dropped;
  finish_sending(finished.accepted.get());
  reset(dropped.accepted.get());
  table->record(0) = {.generation = 1, .phase = Phase::waiting, .client_fd = session.accepted.get()};
  bool session_named = false;
  bool newcomer_named = false;
  for (const Received& word : last_words(*table)) {
    for (const sys::UniqueFd& fd : word.fds) {
      const bool as_newcomer = word.message.kind == KeeperKind::newcomers;
      if (is_same_socket(fd.get(), session)) {
        CHECK_FALSE(as_newcomer);
        session_named = true;
      }
      if (is_same_socket(fd.get(), newcomer)) {
        CHECK(as_newcomer);
        newcomer_named = true;
      }
      // What had been told to end is left to its end.
      CHECK_FALSE(is_same_socket(fd.get(), finished));
      CHECK_FALSE(is_same_socket(fd.get(), dropped));
    }
  }
  CHECK(session_named);
  CHECK(newcomer_named);
}
