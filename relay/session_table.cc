#include "relay/session_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace ravelin::relay {
namespace {

constexpr std::array<char, 8> kMagic{'R', 'A', 'V', 'T', 'A', 'B', 'L', 'E'};
constexpr std::size_t kPage = 4096;

// Above these a table is not one of ours: they keep size_of() far from overflow.
constexpr std::uint32_t kMostLoops = 1024;
constexpr std::uint32_t kMostSessions = 16U << 20;
constexpr std::uint32_t kMostPipes = 1U << 20;
constexpr std::uint32_t kMostExtension = 4096;

constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

constexpr std::size_t kLoopArea = whole_pages(sizeof(CounterBlock)) + SessionTable::kBufferBytes;

bool is_sane(const SessionTable::Shape& shape) {
  return shape.loops >= 1 && shape.loops <= kMostLoops && shape.sessions <= kMostSessions &&
         shape.pipes <= kMostPipes && shape.extension_bytes <= kMostExtension && shape.extension_bytes % 8 == 0;
}

}  // namespace

struct SessionTable::Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t layout = kLayoutVersion;
  std::uint32_t record_bytes = sizeof(SessionRecord);
  Shape shape;
};

std::size_t SessionTable::size_of(const Shape& shape) {
  return kPage + kLoopArea * (shape.loops + 1) + whole_pages(sizeof(PipeRecord) * shape.pipes) +
         whole_pages(sizeof(SessionRecord) * shape.sessions) +
         whole_pages(std::size_t{shape.extension_bytes} * shape.sessions);
}

sys::Result<SessionTable> SessionTable::create(const Shape& shape) {
  assert(is_sane(shape));
  sys::UniqueFd memfd(::memfd_create("ravelin-sessions", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return sys::fail(errno, "memfd_create for the session table");
  if (::ftruncate(memfd.get(), static_cast<off_t>(size_of(shape))) != 0) {
    return sys::fail(errno, "cannot size the session table to {} bytes", size_of(shape));
  }
  // Whoever maps it may rely on its size: nobody can pull pages away under a reader.
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return sys::fail(errno, "cannot seal the session table");
  }
  auto table = map(std::move(memfd), shape);
  if (!table) return table;
  const Header header{.shape = shape};
  std::memcpy(table->base_.get(), &header, sizeof header);
  for (std::uint32_t i = 0; i < shape.pipes; ++i) table->pipe(i) = PipeRecord{};
  return table;
}

sys::Result<SessionTable> SessionTable::open(sys::UniqueFd memfd) {
  Header header;
  struct stat status {};
  if (::fstat(memfd.get(), &status) != 0) return sys::fail(errno, "fstat of a session table");
  if (::pread(memfd.get(), &header, sizeof header, 0) != sizeof header || header.magic != kMagic) {
    return sys::fail(0, "not a session table");
  }
  if (header.layout != kLayoutVersion || header.record_bytes != sizeof(SessionRecord)) {
    return sys::fail(0, "session table has layout {}, this program knows {}", header.layout, kLayoutVersion);
  }
  if (!is_sane(header.shape) || static_cast<std::size_t>(status.st_size) != size_of(header.shape)) {
    return sys::fail(0, "session table of {} bytes does not have the size that its header names", status.st_size);
  }
  return map(std::move(memfd), header.shape);
}

sys::Result<SessionTable> SessionTable::map(sys::UniqueFd memfd, const Shape& shape) {
  const std::size_t size = size_of(shape);
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd.get(), 0);
  if (base == MAP_FAILED) return sys::fail(errno, "cannot map the session table of {} bytes", size);
  SessionTable table;
  table.memfd_ = std::move(memfd);
  table.shape_ = shape;
  table.base_ = std::unique_ptr<std::byte, Unmapper>(static_cast<std::byte*>(base), Unmapper{size});
  table.loops_ = table.base_.get() + kPage;
  table.pipes_ = table.loops_ + kLoopArea * (shape.loops + 1);
  table.records_ = table.pipes_ + whole_pages(sizeof(PipeRecord) * shape.pipes);
  table.extensions_ = table.records_ + whole_pages(sizeof(SessionRecord) * shape.sessions);
  return table;
}

std::uint32_t SessionTable::slots_used() const {
  const off_t first = records_ - base_.get();
  const off_t end = extensions_ - base_.get();
  off_t used = first;
  for (off_t at = first; at < end;) {
    const off_t data = ::lseek(memfd_.get(), at, SEEK_DATA);
    if (data < 0 || data >= end) break;
    at = ::lseek(memfd_.get(), data, SEEK_HOLE);
    if (at < 0) return shape_.sessions;  // not a file that knows its holes
    used = std::min(at, end);
  }
  const auto slots = static_cast<std::size_t>(used - first) / sizeof(SessionRecord);
  return static_cast<std::uint32_t>(std::min<std::size_t>(slots, shape_.sessions));
}

void SessionTable::Unmapper::operator()(std::byte* base) const {
  ::munmap(base, size);
}

SessionRecord& SessionTable::record(std::uint32_t slot) const {
  assert(slot < shape_.sessions);
  return reinterpret_cast<SessionRecord*>(records_)[slot];
}

std::span<std::byte> SessionTable::extension(std::uint32_t slot) const {
  assert(slot < shape_.sessions);
  return {extensions_ + std::size_t{shape_.extension_bytes} * slot, shape_.extension_bytes};
}

PipeRecord& SessionTable::pipe(std::uint32_t index) const {
  assert(index < shape_.pipes);
  return reinterpret_cast<PipeRecord*>(pipes_)[index];
}

CounterBlock& SessionTable::counters(std::uint32_t loop) const {
  assert(loop <= shape_.loops);
  return *reinterpret_cast<CounterBlock*>(loops_ + kLoopArea * loop);
}

// In the place of the buffer, which the control loop has no use for.
ControlRecord& SessionTable::control_record() const {
  static_assert(sizeof(ControlRecord) <= kBufferBytes);
  return *reinterpret_cast<ControlRecord*>(loops_ + kLoopArea * (shape_.loops + 1) - kBufferBytes);
}

std::span<std::byte, SessionTable::kBufferBytes> SessionTable::buffer(std::uint32_t loop) const {
  assert(loop < shape_.loops);
  return std::span<std::byte, kBufferBytes>(loops_ + kLoopArea * (loop + 1) - kBufferBytes, kBufferBytes);
}

}  // namespace ravelin::relay
