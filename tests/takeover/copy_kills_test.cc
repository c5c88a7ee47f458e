// The copy path, killed at random points a thousand times: not one byte is lost, doubled or changed.
//
// One session, both ways at once. Its relay runs in a child that is killed after a random time; the next child takes
// stock and goes on. The peers live in this process and know what every byte has to be. RAVELIN_SEED replays a run.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "relay/pump.h"
#include "relay/recovery.h"
#include "relay/socket.h"
#include "sys/descriptor.h"

using namespace ravelin;
using namespace ravelin::relay;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::uint32_t kPipes = 6;

std::byte byte_at(std::uint64_t position, std::uint64_t stream) {
  return static_cast<std::byte>((position * 0x9e3779b97f4a7c15 + stream * 0xbf58476d1ce4e5b9) >> 56);
}

// One peer: says its own stream and listens to the other's.
struct Peer {
  sys::UniqueFd fd;
  std::uint64_t stream;
  std::uint64_t said = 0;
  std::uint64_t heard = 0;
  std::optional<std::uint64_t> wrong_at;

  void say(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = byte_at(said + i, stream);
    const ssize_t sent = ::send(fd.get(), bytes.data(), count, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) said += static_cast<std::uint64_t>(sent);
  }

  void hear(std::size_t most, std::uint64_t others_stream) {
    std::vector<std::byte> bytes(most);
    const ssize_t taken = ::recv(fd.get(), bytes.data(), most, MSG_DONTWAIT);
    for (ssize_t i = 0; i < taken; ++i, ++heard) {
      const bool right = bytes[static_cast<std::size_t>(i)] == byte_at(heard, others_stream);
      if (!right && !wrong_at) wrong_at = heard;
    }
  }
};

struct Pair {
  sys::UniqueFd connected;
  sys::UniqueFd accepted;
};

// Small buffers, so that sends are short and bytes have to be put aside.
Pair tcp_pair() {
  const auto listener = listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 1);
  REQUIRE(listener);
  sys::set_option(listener->get(), SOL_SOCKET, SO_RCVBUF, 16 << 10);
  sys::set_option(listener->get(), SOL_SOCKET, SO_SNDBUF, 16 << 10);
  sockaddr_storage address{};
  const socklen_t length = sys::SocketAddress::local_of(listener->get())->to(address);
  sys::UniqueFd connected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sys::set_option(connected.get(), SOL_SOCKET, SO_RCVBUF, 16 << 10);
  sys::set_option(connected.get(), SOL_SOCKET, SO_SNDBUF, 16 << 10);
  REQUIRE(::connect(connected.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  sys::UniqueFd accepted(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(accepted);
  for (const int fd : {connected.get(), accepted.get()}) REQUIRE(prepare_stream({}, fd));
  return {std::move(connected), std::move(accepted)};
}

// What a process does with a session that it finds in the table, until it is killed.
[[noreturn]] void relay_until_killed(const SessionTable& table) {
  SessionRecord& record = table.record(0);
  PipePool pipes(table, 0, 1, 1 << 16);
  std::vector<bool> owned(kPipes, false);
  for (const FlowRecord* flow : {&record.up, &record.down}) {
    if (flow->pipe != FlowRecord::kNoPipe) owned[static_cast<std::size_t>(flow->pipe)] = true;
  }
  pipes.adopt(owned);
  const Resumption resumption = take_stock(record, pipes, table.buffer(0));
  if (resumption.action != Resumption::Action::relay) ::_exit(1);
  Pump pump(pipes, table.buffer(0));
  pump.consume(record.client_fd, resumption.consume_up);
  pump.consume(record.origin_fd, resumption.consume_down);
  for (;;) {
    for (const Side side : {Side::client, Side::origin}) {
      const auto result = pump.run(flow_from(record, side));
      if (result.error != 0 || result.short_of_pipes) ::_exit(2);
    }
    std::array<pollfd, 2> sockets{{{record.client_fd, POLLIN, 0}, {record.origin_fd, POLLIN, 0}}};
    ::poll(sockets.data(), sockets.size(), 0);
  }
}

std::uint64_t seed_of_this_run() {
  const char* given = std::getenv("RAVELIN_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

}  // namespace

TEST_CASE("a relay killed a thousand times in the middle of copying loses no byte and doubles none") {
  const std::uint64_t seed = seed_of_this_run();
  INFO("RAVELIN_SEED=", seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };

  auto table = SessionTable::create({.sessions = 1, .pipes = kPipes});
  REQUIRE(table);
  // All pipes are made here: what a child makes nobody else has.
  PipePool pipes(*table, 0, 1, 1 << 16);
  std::vector<std::int32_t> made;
  for (std::uint32_t i = 0; i < kPipes; ++i) made.push_back(*pipes.take());
  for (const std::int32_t pipe : made) pipes.give_back(pipe);

  Pair outer = tcp_pair();
  Pair inner = tcp_pair();
  Peer client{.fd = std::move(outer.connected), .stream = 1};
  Peer origin{.fd = std::move(inner.accepted), .stream = 2};
  SessionRecord& record = table->record(0);
  record =
      SessionRecord{.phase = Phase::relaying, .client_fd = outer.accepted.get(), .origin_fd = inner.connected.get()};
  record.client = record.origin_peer = sys::SocketAddress::ipv4({127, 0, 0, 1}, 1);
  for (const int fd : {record.client_fd, record.origin_fd}) REQUIRE(::fcntl(fd, F_SETFL, O_NONBLOCK) == 0);

  // Mostly small messages that are heard at once; now and then somebody does not listen, or says much.
  const auto move = [&](bool quiet) {
    for (Peer* peer : {&client, &origin}) {
      Peer& other = peer == &client ? origin : client;
      peer->say(1 + below(below(500) == 0 ? 40'000 : 2'000));
      if (!quiet) peer->hear(1 + below(8'000), other.stream);
    }
  };
  int in_the_buffer = 0;
  for (int death = 0; death < 1000; ++death) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) relay_until_killed(*table);
    // It lives until it has moved something, and then a little longer.
    const std::uint64_t moved = record.up.moved + record.down.moved;
    const auto limit = Clock::now() + std::chrono::seconds(1);
    while (record.up.moved + record.down.moved == moved && Clock::now() < limit) move(false);
    const auto until = Clock::now() + std::chrono::microseconds(below(300));
    const bool quiet = below(4) == 0;
    while (Clock::now() < until) move(quiet);
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE_MESSAGE(WIFSIGNALED(status), "the relay gave up: ", status);
    in_the_buffer += is_in_buffer(record) ? 1 : 0;
    REQUIRE(!client.wrong_at);
    REQUIRE(!origin.wrong_at);
  }
  CHECK(in_the_buffer > 5);  // or the test kills somewhere else

  // The last one may finish: everything said is heard.
  const pid_t child = ::fork();
  if (child == 0) relay_until_killed(*table);
  const auto until = Clock::now() + std::chrono::seconds(20);
  while ((client.said != origin.heard || origin.said != client.heard) && Clock::now() < until) {
    client.hear(100'000, origin.stream);
    origin.hear(100'000, client.stream);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(client.said == origin.heard);
  CHECK(origin.said == client.heard);
  CHECK(!client.wrong_at);
  CHECK(!origin.wrong_at);
  MESSAGE("" << client.said + origin.said << " bytes, " << in_the_buffer << " deaths with bytes in the buffer");
}
