// The engine over real sockets: clients and origins are plain blocking sockets of this process.

#include "relay/engine.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>
#include <future>
#include <numeric>
#include <thread>

#include "plain_policy.h"
#include "relay/socket.h"
#include "sys/descriptor.h"
#include "sys/mailbox.h"

using namespace ravelin;
using namespace ravelin::relay;
using namespace std::chrono_literals;

namespace {

std::size_t open_descriptors() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

// The deadline of every wait: reached only when something is broken.
constexpr auto kLong = 60s;

// A blocking socket with that deadline, after which a call fails and with it the test.
sys::UniqueFd patient(sys::UniqueFd fd) {
  ::fcntl(fd.get(), F_SETFL, 0);
  const timeval limit{.tv_sec = kLong.count(), .tv_usec = 0};
  sys::set_option(fd.get(), SOL_SOCKET, SO_RCVTIMEO, limit);
  sys::set_option(fd.get(), SOL_SOCKET, SO_SNDTIMEO, limit);
  return fd;
}

std::string read_all(int fd, std::size_t most = ~0UL) {
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() < most) {
    const ssize_t count = ::recv(fd, buffer.data(), std::min(buffer.size(), most - text.size()), 0);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    REQUIRE(count > 0);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// How the stream ended: 0 for its end, otherwise the errno.
int ending_of(int fd) {
  char byte = 0;
  for (;;) {
    const ssize_t count = ::recv(fd, &byte, 1, 0);
    if (count <= 0) return count == 0 ? 0 : errno;
  }
}

bool is_quiet(int fd) {
  pollfd item{.fd = fd, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&item, 1, 100) == 0;
}

template <class Condition>
void eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  bool holds = condition();
  while (!holds && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(2ms);
    holds = condition();
  }
  CHECK(holds);
}

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

// An engine with one listener on loopback, its control loop on a thread of its own, and a listening origin.
class Rig {
 public:
  struct Options {
    ListenerOptions listener{.name = "test"};
    std::string header = "HEADER ";
    unsigned loops = 2;
    std::uint32_t max_sessions = 0;
    std::uint32_t max_pipes = 256;
    int dead_origins = 0;  // tried before the one that answers
    bool origin_listens = true;
  };

  explicit Rig(Options options) {
    auto listening = listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 128);
    REQUIRE(listening);
    origin_ = patient(std::move(*listening));
    const auto address = *sys::SocketAddress::local_of(origin_.get());
    if (!options.origin_listens) origin_.reset();
    std::vector<sys::SocketAddress> origins(static_cast<std::size_t>(options.dead_origins),
                                            sys::SocketAddress::ipv4({127, 0, 0, 1}, 1));
    origins.push_back(address);
    options.listener.address = *sys::Endpoint::parse("127.0.0.1:0");
    EngineSettings settings{
        .loops = options.loops, .max_sessions = options.max_sessions, .max_pipes = options.max_pipes};
    settings.listeners.push_back(options.listener);
    engine_ = std::make_unique<Engine>(loop_, log_, settings, [this, origins, header = options.header](unsigned) {
      return std::make_unique<PlainPolicy>(origins, header, ends_);
    });
    const auto started = engine_->start();
    REQUIRE(started);
    address_ = engine_->addresses().at(0);
    control_ = std::make_unique<sys::Mailbox>(loop_);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Rig() {
    control_->post([this] {
      engine_.reset();
      control_.reset();
    });
    thread_.join();
  }

  [[nodiscard]] sys::UniqueFd connect() const {
    sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage{};
    const socklen_t length = address_.to(storage);
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0);
    return patient(std::move(fd));
  }
  [[nodiscard]] sys::UniqueFd accept() const {
    sys::UniqueFd fd(::accept4(origin_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(fd);
    return patient(std::move(fd));
  }
  // A session whose first bytes have arrived.
  [[nodiscard]] std::pair<sys::UniqueFd, sys::UniqueFd> session() const {
    auto client = connect();
    write_all(client.get(), "hello");
    auto origin = accept();
    CHECK(read_all(origin.get(), 12) == "HEADER hello");
    return {std::move(client), std::move(origin)};
  }
  // The sessions with their slots, as their loops see them.
  [[nodiscard]] std::vector<std::pair<std::ptrdiff_t, SessionRecord>> records() const {
    std::vector<std::pair<std::ptrdiff_t, SessionRecord>> records;
    std::promise<void> done;
    control_->post([&] {
      engine_->for_each_session(
          [&](const SessionView& session) {
            records.emplace_back(&session.record - &engine_->table().record(0), session.record);
          },
          [&] { done.set_value(); });
    });
    done.get_future().wait();
    return records;
  }
  // Duplicates of both sockets of the only session there is, as another process would hold them.
  [[nodiscard]] std::pair<sys::UniqueFd, sys::UniqueFd> duplicates() const {
    for (const auto& [slot, record] : records()) {
      if (record.phase == Phase::relaying)
        return {sys::UniqueFd(::dup(record.client_fd)), sys::UniqueFd(::dup(record.origin_fd))};
    }
    return {};
  }
  [[nodiscard]] const Engine& engine() const { return *engine_; }
  [[nodiscard]] Ends& ends() { return ends_; }
  [[nodiscard]] SessionRecord only_end() {
    eventually([this] { return ends_.all().size() == 1; });
    return ends_.all().at(0);
  }

 private:
  Ends ends_;
  sys::Log log_{sys::LogFormat::text, sys::LogLevel::error};
  sys::Loop loop_;
  sys::UniqueFd origin_;
  std::unique_ptr<Engine> engine_;
  sys::SocketAddress address_;
  std::unique_ptr<sys::Mailbox> control_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("the origin gets the header and then the client's bytes, and its answer goes back") {
  Rig rig({});
  auto [client, origin] = rig.session();
  write_all(origin.get(), "answer");
  CHECK(read_all(client.get(), 6) == "answer");
}

TEST_CASE("header and first bytes arrive in one segment") {
  Rig rig({});
  const auto client = rig.connect();
  write_all(client.get(), "hello");
  const auto origin = rig.accept();
  pollfd item{.fd = origin.get(), .events = POLLIN, .revents = 0};
  REQUIRE(::poll(&item, 1, 60'000) == 1);
  std::array<char, 100> buffer;
  CHECK(::recv(origin.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) == 12);
}

TEST_CASE("bytes that the policy skips never reach the origin, however they are cut") {
  Rig rig({});
  for (std::size_t cut = 1; cut < 9; ++cut) {
    const std::string text = "#skip\nhey";
    const auto client = rig.connect();
    write_all(client.get(), std::string_view(text).substr(0, cut));
    if (cut < 6) CHECK(is_quiet(client.get()));
    write_all(client.get(), std::string_view(text).substr(cut));
    const auto origin = rig.accept();
    CHECK(read_all(origin.get(), 10) == "HEADER hey");
  }
}

TEST_CASE("a large transfer arrives byte for byte both ways at once") {
  Rig rig({});
  auto [client, origin] = rig.session();
  const std::string up = pattern(20'000'000);
  const std::string down = pattern(15'000'000);
  std::thread client_writes([&, fd = client.get()] { write_all(fd, up); });
  std::thread origin_writes([&, fd = origin.get()] { write_all(fd, down); });
  std::string received;
  std::thread origin_reads([&, fd = origin.get()] { received = read_all(fd, up.size()); });
  CHECK(read_all(client.get(), down.size()) == down);
  client_writes.join();
  origin_writes.join();
  origin_reads.join();
  CHECK(received == up);
}

TEST_CASE("without a single free pipe the bytes still arrive") {
  // Two pipes for each loop at the least; stalled transfers keep them all.
  Rig rig({.loops = 1, .max_pipes = 2});
  const std::string bulk = pattern(8'000'000);
  std::vector<std::pair<sys::UniqueFd, sys::UniqueFd>> stalled;
  for (int i = 0; i < 2; ++i) {
    stalled.push_back(rig.session());
    ::fcntl(stalled.back().first.get(), F_SETFL, O_NONBLOCK);
  }
  const auto [client, origin] = rig.session();
  // When the kernel has taken all that it takes nobody can see from here, so a transfer that found a pipe is repeated.
  eventually([&, from = client.get(), to = origin.get()] {
    for (const auto& [writer, reader] : stalled) {
      while (::send(writer.get(), bulk.data(), bulk.size(), MSG_NOSIGNAL) > 0) continue;
    }
    std::thread writes([&] { write_all(from, bulk); });
    CHECK(read_all(to, bulk.size()) == bulk);
    writes.join();
    return rig.engine().count(kPipesShort) > 0;
  });
}

TEST_CASE("an origin that stops reading stops the client, and then everything arrives") {
  Rig rig({});
  auto [client, origin] = rig.session();
  const std::string text = pattern(64 << 20);
  std::thread writes([&, fd = client.get()] { write_all(fd, text); });
  CHECK(!is_quiet(origin.get()));
  CHECK(read_all(origin.get(), text.size()) == text);
  writes.join();
}

TEST_CASE("an end of stream is passed on and the other direction goes on") {
  Rig rig({});
  auto [client, origin] = rig.session();
  const auto held = rig.duplicates();
  ::shutdown(client.get(), SHUT_WR);
  CHECK(ending_of(origin.get()) == 0);
  write_all(origin.get(), "late answer");
  CHECK(read_all(client.get(), 11) == "late answer");
  origin.reset();
  CHECK(ending_of(client.get()) == 0);
  const auto end = rig.only_end();
  CHECK(end.end_side == EndSide::client);
  CHECK(end.end_kind == EndKind::fin);
  CHECK(end.reason == Reason::finished);
  CHECK(end.up.moved == 5);
  CHECK(end.down.moved == 11);
}

TEST_CASE("an origin that finishes first can still be told more") {
  Rig rig({});
  auto [client, origin] = rig.session();
  ::shutdown(origin.get(), SHUT_WR);
  CHECK(ending_of(client.get()) == 0);
  write_all(client.get(), "more");
  CHECK(read_all(origin.get(), 4) == "more");
  client.reset();
  CHECK(ending_of(origin.get()) == 0);
  CHECK(rig.only_end().end_side == EndSide::origin);
}

TEST_CASE("a reset is passed on as a reset, also while another process holds the sockets") {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  SUBCASE("from the client") {
    Rig rig({});
    auto [client, origin] = rig.session();
    const auto held = rig.duplicates();
    REQUIRE(held.first);
    sys::set_option(client.get(), SOL_SOCKET, SO_LINGER, at_once);
    client.reset();
    CHECK(ending_of(origin.get()) == ECONNRESET);
    CHECK(rig.only_end().end_side == EndSide::client);
    CHECK(rig.only_end().end_kind == EndKind::reset);
  }
  SUBCASE("from the origin") {
    Rig rig({});
    auto [client, origin] = rig.session();
    const auto held = rig.duplicates();
    REQUIRE(held.first);
    write_all(origin.get(), "last words");
    CHECK(read_all(client.get(), 10) == "last words");
    sys::set_option(origin.get(), SOL_SOCKET, SO_LINGER, at_once);
    origin.reset();
    CHECK(ending_of(client.get()) == ECONNRESET);
    CHECK(rig.only_end().end_side == EndSide::origin);
  }
  SUBCASE("after the client has finished sending") {
    Rig rig({});
    auto [client, origin] = rig.session();
    ::shutdown(client.get(), SHUT_WR);
    CHECK(ending_of(origin.get()) == 0);
    sys::set_option(client.get(), SOL_SOCKET, SO_LINGER, at_once);
    client.reset();
    eventually([&] { return rig.engine().sessions() == 0; });
    CHECK(rig.only_end().end_kind == EndKind::reset);
  }
}

TEST_CASE("urgent data stays in the stream") {
  Rig rig({});
  auto [client, origin] = rig.session();
  sys::set_option(origin.get(), SOL_SOCKET, SO_OOBINLINE, 1);
  write_all(client.get(), "ab");
  REQUIRE(::send(client.get(), "!", 1, MSG_OOB) == 1);
  write_all(client.get(), "cd");
  CHECK(read_all(origin.get(), 5) == "ab!cd");
}

TEST_CASE("a client that says nothing never reaches the origin") {
  Rig rig({});
  rig.connect().reset();
  const auto end = rig.only_end();
  CHECK(end.reason == Reason::silent);
  CHECK(end.attempts == 0);
}

TEST_CASE("a server that speaks first is connected at once where the listener says so") {
  Rig rig({.listener = {.name = "first", .wait_for_client = false}});
  const auto client = rig.connect();
  const auto origin = rig.accept();
  CHECK(read_all(origin.get(), 7) == "HEADER ");
  write_all(origin.get(), "220 ready");
  CHECK(read_all(client.get(), 9) == "220 ready");
}

TEST_CASE("origins that refuse are passed over while nothing has been forwarded") {
  Rig rig({.dead_origins = 2});
  auto [client, origin] = rig.session();
  write_all(client.get(), "!");
  CHECK(read_all(origin.get(), 1) == "!");
  CHECK(rig.engine().count(kConnectFailures) == 2);
}

TEST_CASE("a client whose origin refuses is reset and the reason is known") {
  Rig rig({.origin_listens = false});
  const auto client = rig.connect();
  write_all(client.get(), "hello");
  CHECK(ending_of(client.get()) == ECONNRESET);
  CHECK(rig.only_end().reason == Reason::connect_refused);
}

TEST_CASE("every timeout ends its session with its own reason") {
  SUBCASE("no first byte") {
    Rig rig({.listener = {.name = "t", .timeouts = {.first_byte = 50ms}}});
    const auto client = rig.connect();
    CHECK(ending_of(client.get()) == ECONNRESET);
    CHECK(rig.only_end().reason == Reason::no_first_byte);
  }
  SUBCASE("idle, counted from the last byte") {
    Rig rig({.listener = {.name = "t", .timeouts = {.idle = 1s}}});
    auto [client, origin] = rig.session();
    for (int i = 0; i < 12; ++i) {  // together longer than the timeout, each of them far shorter
      CHECK(is_quiet(client.get()));
      write_all(client.get(), ".");
      CHECK(read_all(origin.get(), 1) == ".");
    }
    CHECK(ending_of(client.get()) == ECONNRESET);
    CHECK(rig.only_end().reason == Reason::idle);
  }
  SUBCASE("half closed") {
    Rig rig({.listener = {.name = "t", .timeouts = {.half_closed = 50ms}}});
    auto [client, origin] = rig.session();
    ::shutdown(client.get(), SHUT_WR);
    CHECK(ending_of(client.get()) == ECONNRESET);
    CHECK(rig.only_end().reason == Reason::half_closed);
  }
}

TEST_CASE("at the session limit clients wait in the backlog and are served when there is room") {
  Rig rig({.max_sessions = 2});
  auto first = rig.session();
  auto second = rig.session();
  const auto third = rig.connect();
  write_all(third.get(), "hello");
  CHECK(is_quiet(third.get()));
  CHECK(rig.engine().sessions() == 2);
  first.first.reset();
  first.second.reset();
  const auto origin = rig.accept();
  CHECK(read_all(origin.get(), 12) == "HEADER hello");
  CHECK(rig.engine().count(kAcceptPauses) >= 1);
}

TEST_CASE("new sessions go to the loop with the fewest") {
  Rig rig({.loops = 2});
  std::vector<std::pair<sys::UniqueFd, sys::UniqueFd>> sessions;
  for (int i = 0; i < 10; ++i) sessions.push_back(rig.session());
  std::array<int, 2> loads{};
  for (const auto& [slot, record] : rig.records()) ++loads[static_cast<std::size_t>(slot % 2)];
  CHECK(loads[0] == 5);
  CHECK(loads[1] == 5);
}

TEST_CASE("a thousand sessions that come and go leave no descriptor and no slot behind") {
  const std::size_t before = open_descriptors();
  {
    Rig rig({});
    for (int i = 0; i < 1000; ++i) {
      auto [client, origin] = rig.session();
      if (i % 3 == 0) sys::set_option(client.get(), SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
      client.reset();
      (void)ending_of(origin.get());
    }
    eventually([&] { return rig.engine().sessions() == 0; });
    CHECK(rig.engine().count(kAccepted) == 1000);
    CHECK(rig.engine().count(kSessionsEnded) == 1000);
    CHECK(rig.engine().count(kBytesUp) == 5000);
  }
  CHECK(open_descriptors() == before);
}
