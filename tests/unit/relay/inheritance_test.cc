#include "relay/inheritance.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstring>
#include <random>
#include <set>

#include "relay/policy.h"

using namespace ravelin;
using namespace ravelin::relay;

namespace {

constexpr std::uint16_t kListeners = 2;

SessionTable new_table() {
  auto table = SessionTable::create({.loops = 2, .sessions = 64, .pipes = 8, .extension_bytes = 16});
  REQUIRE(table);
  return std::move(*table);
}

sys::UniqueFd some_descriptor() {
  return sys::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void bounded(SessionRecord& record) {
  if (record.listener >= kListeners) record.listener = 0;
}

SessionRecord& put(const SessionTable& table, std::uint32_t slot, Phase phase) {
  SessionRecord& record = table.record(slot);
  record = {.generation = 1, .phase = phase, .client_fd = 1000, .origin_fd = 1001};
  return record;
}

void inherit(Inheritance& inheritance, std::uint32_t slot, std::uint32_t generation = 1) {
  inheritance.sessions.push_back(
      {.slot = slot, .generation = generation, .client = some_descriptor(), .origin = some_descriptor()});
}

void close_all(const SessionTable& table) {
  for (std::uint32_t slot = 0; slot < table.shape().sessions; ++slot) {
    if (table.record(slot).generation == 0) continue;  // never used: all zeros
    const sys::UniqueFd client(table.record(slot).client_fd);
    const sys::UniqueFd origin(table.record(slot).origin_fd);
  }
  for (std::uint32_t i = 0; i < table.shape().pipes; ++i) {
    const sys::UniqueFd in(table.pipe(i).in);
    const sys::UniqueFd out(table.pipe(i).out);
  }
}

}  // namespace

TEST_CASE("the next process works with descriptors of its own and with no number of the one before") {
  const SessionTable table = new_table();
  put(table, 3, Phase::relaying);
  put(table, 4, Phase::waiting);
  table.pipe(1) = {.in = 2000, .out = 2001};
  Inheritance inheritance{.cause = HandOverCause::killed};
  inherit(inheritance, 3);
  const int client = inheritance.sessions[0].client.get();
  const Claim claimed = claim(table, inheritance, bounded);
  CHECK(claimed.sessions == 1);
  CHECK(claimed.lost == 1);
  CHECK(table.record(3).phase == Phase::relaying);
  CHECK(table.record(3).client_fd == client);
  CHECK(table.record(4).client_fd == -1);
  CHECK(table.record(4).phase == Phase::closing);
  CHECK(table.record(4).reason == Reason::process_died);
  CHECK(table.pipe(1).in == -1);
  close_all(table);
}

TEST_CASE("descriptors of a session that is over come into no other one") {
  const SessionTable table = new_table();
  put(table, 1, Phase::free);
  put(table, 2, Phase::relaying).generation = 7;
  Inheritance inheritance;
  inherit(inheritance, 1);
  inherit(inheritance, 2, 6);
  inherit(inheritance, 5'000);
  CHECK(claim(table, inheritance, bounded).sessions == 0);
  CHECK(table.record(1).client_fd == -1);
  CHECK(table.record(2).client_fd == -1);
}

TEST_CASE("a session that two processes have died of is ended alone") {
  const SessionTable table = new_table();
  const auto crash_at = [&](std::uint64_t mark, HandOverCause cause) {
    for (const std::uint32_t slot : {0U, 2U}) put(table, slot, Phase::relaying);
    table.counters(0).work_on(mark);
    Inheritance inheritance{.cause = cause};
    inherit(inheritance, 0);
    inherit(inheritance, 2);
    const Claim claimed = claim(table, inheritance, bounded);
    const Reason reason = table.record(2).reason;
    CHECK(table.record(0).phase == Phase::relaying);
    close_all(table);
    return std::pair(claimed.sessions, reason);
  };
  const std::uint64_t mark = session_mark(2, 1);
  CHECK(crash_at(mark, HandOverCause::crashed) == std::pair(2U, Reason::none));
  CHECK(crash_at(mark, HandOverCause::killed) == std::pair(2U, Reason::none));
  CHECK(crash_at(session_mark(0, 1), HandOverCause::crashed) == std::pair(2U, Reason::none));
  CHECK(crash_at(mark, HandOverCause::crashed) == std::pair(2U, Reason::none));
  CHECK(crash_at(mark, HandOverCause::crashed) == std::pair(1U, Reason::poisonous));
}

TEST_CASE("a process that dies over renumbering leaves numbers that the next one can read") {
  SessionRecord record{.listener = 4, .numbering = 7};
  record.renumber(1, 8);
  CHECK(record.listener == 1);
  CHECK(record.listener_before_numbering(8) == ListenerNumber{.number = 4, .numbering = 7});
  SUBCASE("and numbers once more in its place") {
    record.renumber(2, 8);
    CHECK(record.listener == 2);
    CHECK(record.listener_before_numbering(8) == ListenerNumber{.number = 4, .numbering = 7});
  }
  SUBCASE("or goes on from there") {
    CHECK(record.listener_before_numbering(9) == ListenerNumber{.number = 1, .numbering = 8});
    record.renumber(3, 9);
    CHECK(record.listener_before == 1);
  }
}

TEST_CASE("no number in a table of noise leads its reader out of bounds") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const SessionTable table = new_table();
    Inheritance inheritance{.cause = HandOverCause::crashed};
    inheritance.pipes.push_back({.index = 2, .in = some_descriptor(), .out = some_descriptor()});
    inheritance.pipes.push_back({.index = 900, .in = some_descriptor(), .out = some_descriptor()});
    for (std::uint32_t slot = 0; slot < table.shape().sessions; ++slot) {
      SessionRecord& record = table.record(slot);
      auto* bytes = reinterpret_cast<unsigned char*>(&record);
      for (std::size_t i = 0; i < sizeof record; ++i) bytes[i] = static_cast<unsigned char>(random());
      // Some are nearly right.
      if (random() % 2 == 0) record.phase = static_cast<Phase>(random() % 6);
      if (random() % 2 == 0) record.up.pipe = static_cast<std::int32_t>(random() % 4);
      if (random() % 2 == 0) record.down.pipe = FlowRecord::kNoPipe;
      if (random() % 2 == 0) record.header_bytes = 28;
      if (random() % 4 != 0) inherit(inheritance, slot, record.generation);
    }
    (void)claim(table, inheritance, bounded);
    std::set<std::int32_t> owned;
    for (std::uint32_t slot = 0; slot < table.shape().sessions; ++slot) {
      const SessionRecord& record = table.record(slot);
      CHECK(record.phase <= Phase::closing);
      if (record.phase == Phase::free) continue;
      CHECK(record.listener < kListeners);
      for (const FlowRecord* flow : {&record.up, &record.down}) {
        if (flow->pipe == FlowRecord::kNoPipe) continue;
        CHECK(flow->pipe == 2);
        CHECK(owned.insert(flow->pipe).second);
      }
      if (record.phase == Phase::relaying) CHECK((record.client_fd >= 0 && record.origin_fd >= 0));
      CHECK(record.client.text().size() < 64);
    }
    close_all(table);
  }
}
