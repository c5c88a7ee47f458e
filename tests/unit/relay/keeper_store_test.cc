#include "relay/keeper_store.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <array>

using namespace ravelin;
using namespace ravelin::relay;

namespace {

sys::UniqueFd some_descriptor() {
  return sys::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

Received message(KeeperKind kind, std::vector<KeeperItem> items, std::string text = {}) {
  Received received{.state = Received::State::message,
                    .message = {.kind = kind, .items = std::move(items), .text = std::move(text)}};
  for (std::size_t i = descriptors_of(received.message); i > 0; --i) received.fds.push_back(some_descriptor());
  return received;
}

KeeperStore store_of(std::uint32_t slots, std::uint32_t pipes) {
  KeeperStore store;
  REQUIRE(store.take(message(KeeperKind::table, {{.a = 1, .b = 16, .c = slots}, {.a = pipes}})));
  return store;
}

// Everything that it says: kinds in order, and how many descriptors.
std::vector<std::pair<KeeperKind, std::size_t>> said_by(const KeeperStore& store) {
  std::vector<std::pair<KeeperKind, std::size_t>> all;
  KeeperStore::Cursor cursor;
  while (const auto saying = store.say(cursor)) {
    CHECK(saying->fds.size() == descriptors_of(saying->message));
    CHECK(saying->fds.size() <= kMostDescriptors);
    all.emplace_back(saying->message.kind, saying->fds.size());
  }
  return all;
}

}  // namespace

TEST_CASE("a keeper gives back all that it was given, in batches that the kernel takes") {
  KeeperStore store = store_of(1000, 8);
  REQUIRE(store.take(message(KeeperKind::listener, {{.a = 0}}, "tcp 127.0.0.1:1")));
  REQUIRE(store.take(message(KeeperKind::pipes, {{.a = 3, .b = 2}})));
  for (std::uint32_t slot = 0; slot < 300; ++slot) {
    REQUIRE(store.take(message(KeeperKind::sessions, {{.a = slot, .b = 1, .c = 1 + slot % 2}})));
  }
  CHECK(store.sessions() == 300);
  const auto said = said_by(store);
  REQUIRE(said.size() >= 4);
  CHECK(said[0].first == KeeperKind::table);
  CHECK(said[1].first == KeeperKind::listener);
  CHECK(said[2] == std::pair(KeeperKind::pipes, std::size_t{2}));
  std::size_t sockets = 0;
  for (std::size_t i = 3; i < said.size(); ++i) sockets += said[i].second;
  CHECK(sockets == 450);
}

TEST_CASE("a session's end counts for the session that had the slot at that time alone") {
  KeeperStore store = store_of(10, 0);
  REQUIRE(store.take(message(KeeperKind::sessions, {{.a = 4, .b = 2, .c = 2}})));
  REQUIRE(store.take(message(KeeperKind::sessions, {{.a = 4, .b = 1, .c = 0}})));
  CHECK(store.sessions() == 1);
  REQUIRE(store.take(message(KeeperKind::sessions, {{.a = 4, .b = 2, .c = 0}, {.a = 4, .b = 3, .c = 1}})));
  CHECK(store.sessions() == 1);
  REQUIRE(store.take(message(KeeperKind::sessions, {{.a = 4, .b = 3, .c = 0}})));
  CHECK(store.sessions() == 0);
}

TEST_CASE("a keeper does not believe a number that is out of bounds") {
  KeeperStore store = store_of(10, 2);
  CHECK_FALSE(store.take(message(KeeperKind::sessions, {{.a = 10, .b = 1, .c = 1}})));
  CHECK_FALSE(store.take(message(KeeperKind::sessions, {{.a = 1, .b = 1, .c = 3}})));
  CHECK_FALSE(store.take(message(KeeperKind::pipes, {{.a = 2, .b = 2}})));
  CHECK_FALSE(store.take(message(KeeperKind::pipes, {{.a = 0, .b = 1}})));
  CHECK_FALSE(store.take(message(KeeperKind::table, {{.c = ~0U}, {}})));
  CHECK_FALSE(store.take(message(KeeperKind::table, {{.c = 1}})));
  CHECK_FALSE(store.take(message(KeeperKind::hello, {{}})));
  CHECK(KeeperStore().sessions() == 0);
  CHECK_FALSE(KeeperStore().take(message(KeeperKind::sessions, {{.a = 0, .b = 1, .c = 1}})));
}

TEST_CASE("listeners that the next worker does not name go when it runs, and not before") {
  KeeperStore store = store_of(1, 0);
  for (const char* key : {"tcp a:0", "tcp a:0", "tcp b:1"}) {
    REQUIRE(store.take(message(KeeperKind::listener, {{}}, key)));
  }
  store.expect_listeners();
  REQUIRE(store.take(message(KeeperKind::listener, {{}}, "tcp a:0")));
  REQUIRE(store.take(message(KeeperKind::listener, {{}}, "tcp c:2")));
  CHECK(store.listeners() == 4);
  store.forget_unnamed_listeners();
  CHECK(store.listeners() == 2);
}

TEST_CASE("a newcomer that two workers in a row have named is one newcomer") {
  KeeperStore store = store_of(10, 0);
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const std::array<sys::UniqueFd, 2> sockets{sys::UniqueFd(ends[0]), sys::UniqueFd(ends[1])};
  const auto name = [&](int fd) {
    Received received{.state = Received::State::message,
                      .message = {.kind = KeeperKind::newcomers, .items = {{.a = 1}}}};
    received.fds.emplace_back(::dup(fd));
    return store.take(std::move(received));
  };
  for (const int fd : {ends[0], ends[0], ends[1]}) REQUIRE(name(fd));
  CHECK(said_by(store).back() == std::pair(KeeperKind::newcomers, std::size_t{2}));
  store.forget_sessions();
  CHECK(said_by(store).back().first == KeeperKind::table);
}

TEST_CASE("sessions that are given up end with a reset") {
  KeeperStore store = store_of(10, 0);
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const sys::UniqueFd peer(ends[1]);
  const sys::UniqueFd duplicate(::dup(ends[0]));  // somebody else's, which keeps the socket alive
  Received received{.state = Received::State::message,
                    .message = {.kind = KeeperKind::sessions, .items = {{.a = 0, .b = 1, .c = 1}}}};
  received.fds.emplace_back(ends[0]);
  REQUIRE(store.take(std::move(received)));
  store.drop_sessions();
  char byte = 0;
  CHECK(::recv(peer.get(), &byte, 1, MSG_DONTWAIT) == 0);
  CHECK_FALSE(store.has_table());
  CHECK(store.sessions() == 0);
}
