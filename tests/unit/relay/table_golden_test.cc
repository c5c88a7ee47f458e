// The table's layout is a contract between versions of the program: a frozen table, as text, that this version must
// read as it was meant, and must write in the same way, byte for byte.
//
// After a change of the layout on purpose: raise SessionTable::kLayoutVersion, run once with RAVELIN_WRITE_GOLDEN=1,
// and commit the new file beside the old ones.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "relay/session_table.h"

using namespace ravelin::relay;
using ravelin::sys::SocketAddress;
using ravelin::sys::UniqueFd;

namespace {

constexpr SessionTable::Shape kShape{.loops = 2, .sessions = 40, .pipes = 4, .extension_bytes = 24};
constexpr std::size_t kRow = 32;

std::string golden_path() {
  return fmt::format("{}/layout-{}.txt", RAVELIN_TABLES, SessionTable::kLayoutVersion);
}

// A session in the middle of its life, every field another value.
SessionRecord relaying() {
  SessionRecord record;
  record.generation = 3;
  record.phase = Phase::relaying;
  record.client_fd = 101;
  record.origin_fd = 102;
  record.client_error = 104;
  record.origin_error = 110;
  record.listener = 1;
  record.origin = 2;
  record.attempts = 4;
  record.header_bytes = 56;
  record.skip_bytes = 28;
  record.rtt_client_us = 11'000;
  record.rtt_origin_us = 2'200;
  record.settled = 1;
  record.up = {.moved = 1'234'567, .pipe = 2, .pending = 4096, .eof = 1, .fin_sent = 1, .blocked = 1, .urgent = 1};
  record.down = {.moved = 7'654'321, .hold = Hold::taken, .ending = 1, .splicing = 1, .small = 9};
  record.accepted_wall_us = 1'796'000'000'000'000;
  record.accepted_mono_ms = 5'000;
  record.last_activity_ms = 6'000;
  record.tried = 0b101;
  record.end_by_ms = 7'000;
  record.source = 17;
  record.numbering = 5;
  record.listener_before = 3;
  for (std::uint8_t i = 0; i < 16; ++i) record.id.bytes[i] = static_cast<std::uint8_t>(0xa0 + i);
  record.client = *SocketAddress::parse("203.0.113.5:4711");
  record.local = *SocketAddress::parse("[2001:db8::1]:443");
  record.origin_peer = *SocketAddress::parse("192.0.2.9:8443");
  record.origin_local = *SocketAddress::parse("192.0.2.1:40000");
  return record;
}

SessionRecord waiting() {
  SessionRecord record{.generation = 1, .phase = Phase::waiting, .client_fd = 103};
  record.client = *SocketAddress::parse("[2001:db8::7]:1024");
  return record;
}

void fill(const SessionTable& table) {
  table.record(0) = relaying();
  table.record(39) = waiting();
  for (std::uint8_t i = 0; i < 24; ++i) table.extension(39)[i] = std::byte{i};
  table.pipe(2) = {.in = 105, .out = 106};
  table.counters(0).add(kAccepted, 10);
  table.counters(1).add(kBytesDown, 1 << 20);
  table.counters(1).work_on(session_mark(0, 3));
  table.control_counters().add(kLimitReached + 1, 5);
  table.control_record().drain = {.since_ms = 1, .close_from_ms = 2, .over_ms = 3};
  table.control_record().name_listener({.number = 1, .numbering = 5}, "front");
  table.buffer(1)[0] = std::byte{'x'};
}

// Rows that are not all zeros: "OFFSET HEX".
std::string text_of(const SessionTable& table) {
  struct stat status {};
  REQUIRE(::fstat(table.fd(), &status) == 0);
  std::string text = fmt::format("bytes {}\n", status.st_size);
  std::array<unsigned char, kRow> row;
  for (off_t at = 0; at < status.st_size; at += kRow) {
    REQUIRE(::pread(table.fd(), row.data(), kRow, at) == kRow);
    if (std::ranges::all_of(row, [](unsigned char byte) { return byte == 0; })) continue;
    text += fmt::format("{:06x} {:02x}\n", at, fmt::join(row, ""));
  }
  return text;
}

UniqueFd file_of(const std::string& text) {
  UniqueFd file(::memfd_create("golden", MFD_CLOEXEC));
  std::istringstream lines(text);
  std::string word;
  off_t size = 0;
  REQUIRE(static_cast<bool>(lines >> word >> size));
  REQUIRE(::ftruncate(file.get(), size) == 0);
  off_t at = 0;
  while (lines >> std::hex >> at >> word) {
    for (std::size_t i = 0; i < word.size(); i += 2) {
      const auto byte = static_cast<unsigned char>(std::stoul(word.substr(i, 2), nullptr, 16));
      REQUIRE(::pwrite(file.get(), &byte, 1, at + static_cast<off_t>(i / 2)) == 1);
    }
  }
  return file;
}

std::string golden() {
  std::ifstream file(golden_path());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("this version writes a table as its layout's frozen one says") {
  const auto table = SessionTable::create(kShape);
  REQUIRE(table);
  fill(*table);
  const std::string text = text_of(*table);
  if (std::getenv("RAVELIN_WRITE_GOLDEN") != nullptr) std::ofstream(golden_path()) << text;
  CHECK(text == golden());
}

TEST_CASE("this version reads what a version of the same layout has written") {
  const auto table = SessionTable::open(file_of(golden()));
  REQUIRE(table);
  const auto expected = SessionTable::create(kShape);
  REQUIRE(expected);
  fill(*expected);
  CHECK(text_of(*table) == text_of(*expected));
  CHECK(table->slots_used() >= 40);
  CHECK(table->record(0).client.text() == "203.0.113.5:4711");
  CHECK(table->record(0).down.hold == Hold::taken);
  CHECK(table->record(39).phase == Phase::waiting);
  CHECK(table->control_record().listener_name({.number = 1, .numbering = 5}) == "front");
  CHECK(table->control_record().drain.over_ms == 3);
  CHECK(table->control_counters().value(kLimitReached + 1) == 5);
}
