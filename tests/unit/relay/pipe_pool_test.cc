#include "relay/pipe_pool.h"

#include <doctest/doctest.h>
#include <unistd.h>

using namespace ravelin::relay;

namespace {

SessionTable table_with(std::uint32_t pipes) {
  return std::move(*SessionTable::create({.sessions = 1, .pipes = pipes}));
}

}  // namespace

TEST_CASE("a pipe that was given back empty is used again") {
  const auto table = table_with(4);
  PipePool pool(table, 0, 1, 1 << 20);
  const auto first = pool.take();
  REQUIRE(first);
  const int fd = pool.pipe(*first).in;
  pool.give_back(*first);
  const auto second = pool.take();
  REQUIRE(second);
  CHECK(pool.pipe(*second).in == fd);
  pool.give_back(*second);
}

TEST_CASE("bytes left in a pipe never reach another session") {
  const auto table = table_with(4);
  PipePool pool(table, 0, 1, 1 << 20);
  const auto pipe = pool.take();
  REQUIRE(pipe);
  REQUIRE(::write(pool.pipe(*pipe).in, "secret", 6) == 6);
  pool.give_back(*pipe);
  CHECK(pool.idle() == 0);
  CHECK(table.pipe(static_cast<std::uint32_t>(*pipe)).in == -1);
}

TEST_CASE("a pool at its limit says so instead of asking the kernel") {
  const auto table = table_with(2);
  PipePool pool(table, 0, 2, 1 << 20);  // every second pipe: one
  const auto only = pool.take();
  REQUIRE(only);
  const auto none = pool.take();
  REQUIRE(!none);
  CHECK(none.error().code == EDQUOT);
  pool.give_back(*only);
}

TEST_CASE("a pool takes over pipes that stand in the table, and closes those whose bytes belong to nobody") {
  const auto table = table_with(3);
  std::array<std::array<int, 2>, 3> ends{};
  for (std::uint32_t i = 0; i < 3; ++i) {
    REQUIRE(::pipe(ends[i].data()) == 0);
    table.pipe(i) = PipeRecord{.in = ends[i][1], .out = ends[i][0]};
  }
  REQUIRE(::write(ends[0][1], "x", 1) == 1);  // owned by a session
  REQUIRE(::write(ends[1][1], "x", 1) == 1);  // left over
  PipePool pool(table, 0, 1, 1 << 20);
  pool.adopt({true, false, false});
  CHECK(table.pipe(0).in == ends[0][1]);
  CHECK(table.pipe(1).in == -1);
  CHECK(pool.idle() == 1);
  pool.give_back(0);
}
