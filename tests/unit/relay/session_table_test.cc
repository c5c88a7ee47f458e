#include "relay/session_table.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

using namespace ravelin::relay;
using ravelin::sys::UniqueFd;

TEST_CASE("what one process wrote into a table another one reads there") {
  auto table = SessionTable::create({.loops = 2, .sessions = 100, .pipes = 8, .extension_bytes = 64});
  REQUIRE(table);
  table->record(99).client_fd = 7;
  table->extension(99)[63] = std::byte{42};
  table->pipe(7).in = 5;
  table->control_counters().add(kAccepted, 3);
  auto other = SessionTable::open(UniqueFd(::dup(table->fd())));
  REQUIRE(other);
  CHECK(other->shape().sessions == 100);
  CHECK(other->record(99).client_fd == 7);
  CHECK(other->extension(99)[63] == std::byte{42});
  CHECK(other->pipe(7).in == 5);
  CHECK(other->pipe(6).in == -1);
  CHECK(other->control_counters().value(kAccepted) == 3);
}

TEST_CASE("a table for a million sessions costs only the pages that are used") {
  auto table = SessionTable::create({.loops = 4, .sessions = 1'000'000, .pipes = 256, .extension_bytes = 256});
  REQUIRE(table);
  struct stat status {};
  REQUIRE(::fstat(table->fd(), &status) == 0);
  CHECK(status.st_size > 500'000'000);
  CHECK(status.st_blocks * 512 < 100'000);
}

TEST_CASE("nobody can pull a table's pages away under its readers") {
  auto table = SessionTable::create({.sessions = 10});
  REQUIRE(table);
  CHECK(::ftruncate(table->fd(), 4096) != 0);
  CHECK(::ftruncate(table->fd(), 1 << 30) != 0);
}

TEST_CASE("a file that is no table, a table of another layout and one with impossible sizes are refused") {
  UniqueFd empty(::memfd_create("x", 0));
  CHECK(!SessionTable::open(std::move(empty)));
  auto table = SessionTable::create({.sessions = 10, .pipes = 2});
  REQUIRE(table);
  std::vector<char> bytes(4096);
  REQUIRE(::pread(table->fd(), bytes.data(), bytes.size(), 0) == 4096);
  for (const std::size_t changed : {0UL, 8UL, 12UL, 18UL, 22UL, 26UL, 30UL}) {
    CAPTURE(changed);
    UniqueFd copy(::memfd_create("x", 0));
    auto other = bytes;
    other[changed] = static_cast<char>(other[changed] + 1);
    struct stat status {};
    REQUIRE(::fstat(table->fd(), &status) == 0);
    REQUIRE(::ftruncate(copy.get(), status.st_size) == 0);
    REQUIRE(::pwrite(copy.get(), other.data(), other.size(), 0) == 4096);
    CHECK(!SessionTable::open(std::move(copy)));
  }
}
