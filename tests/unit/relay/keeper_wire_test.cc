#include "relay/keeper_wire.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

#include "relay/inheritance.h"

using namespace ravelin::relay;

namespace {

std::vector<std::byte> encoded(const KeeperMessage& message) {
  std::vector<std::byte> bytes;
  encode(message, bytes);
  return bytes;
}

}  // namespace

TEST_CASE("what is said to a keeper arrives as it was said") {
  const KeeperMessage said{.kind = KeeperKind::listener,
                           .items = {{.a = 1, .b = 2, .c = 3}, {.a = ~0U, .b = 0, .c = 7}},
                           .text = "tcp 127.0.0.1:443"};
  const auto heard = decode(encoded(said));
  REQUIRE(heard);
  CHECK(heard->kind == said.kind);
  CHECK(heard->items == said.items);
  CHECK(heard->text == said.text);
  CHECK(decode(encoded({.kind = KeeperKind::beat}))->items.empty());
}

TEST_CASE("a message's bytes are a contract between versions") {
  const auto bytes = encoded({.kind = KeeperKind::sessions, .items = {{.a = 5, .b = 9, .c = 2}}, .text = "x"});
  const std::vector<unsigned> golden{12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 'x'};
  REQUIRE(bytes.size() == golden.size());
  for (std::size_t i = 0; i < golden.size(); ++i) CHECK(std::to_integer<unsigned>(bytes[i]) == golden[i]);
}

TEST_CASE("bytes that are no message are none") {
  const auto whole = encoded({.kind = KeeperKind::sessions, .items = {{.a = 5}, {.a = 6}}, .text = "abc"});
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(decode(std::span(whole).first(size)));
  auto longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode(longer));
  std::mt19937 random(1);
  for (int round = 0; round < 10'000; ++round) {
    std::vector<std::byte> noise(random() % 64);
    for (auto& byte : noise) byte = static_cast<std::byte>(random());
    if (const auto message = decode(noise)) CHECK(message->items.size() <= kMostItems);
  }
}

TEST_CASE("a message says itself how many descriptors come with it") {
  CHECK(descriptors_of({.kind = KeeperKind::table, .items = {{}, {}}}) == 1);
  CHECK(descriptors_of({.kind = KeeperKind::sessions, .items = {{.c = 2}, {.c = 1}, {.c = 0}}}) == 3);
  CHECK(descriptors_of({.kind = KeeperKind::pipes, .items = {{.b = 2}, {.b = 0}}}) == 2);
  CHECK(descriptors_of({.kind = KeeperKind::hello, .items = {{}}}) == 0);
}

TEST_CASE("a message of a later version is skipped, with whatever it brings") {
  auto ends = KeeperChannel::pair();
  REQUIRE(ends);
  const KeeperMessage later{.kind = static_cast<KeeperKind>(999), .items = {{.a = 1}}};
  const std::array<int, 1> some{0};
  REQUIRE(ends->first.send(later, some));
  Received heard = ends->second.receive();
  CHECK(heard.state == Received::State::message);
  CHECK(heard.fds.empty());
  CHECK(Inheritance{}.take(std::move(heard)));
}
