// The session table: a memfd that holds all that must outlive the process, mapped shared.
//
//   header | an area for each loop and one for the control loop: counters, buffer | pipes | records | extensions
//
// Sparse and of its final size from the start (sealed against resizing), so that an address in it stays valid and an
// unused slot costs nothing. Slots are dealt out round-robin: slot s belongs to loop s mod loops.
//
// Descriptor numbers in it are those of the process that works on it; whoever takes a table over writes its own.
// Different slots may be used by different threads at once; one slot by the thread of its loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "relay/control_record.h"
#include "relay/counters.h"
#include "relay/session_record.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

// Both ends of one pipe of the pool; -1 where there is none.
struct PipeRecord {
  std::int32_t in = -1;   // bytes enter here
  std::int32_t out = -1;  // and leave here
};

// A session by slot and generation; never 0.
[[nodiscard]] constexpr std::uint64_t session_mark(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | slot;
}

class SessionTable {
 public:
  // Grows with every change of the layout below; a process refuses a table of a layout that it does not know.
  static constexpr std::uint32_t kLayoutVersion = 2;
  static constexpr std::size_t kBufferBytes = 64 << 10;

  struct Shape {
    std::uint32_t loops = 1;
    std::uint32_t sessions = 0;         // slots
    std::uint32_t pipes = 0;            // for all loops together
    std::uint32_t extension_bytes = 0;  // a session, a multiple of 8
  };

  SessionTable() = default;
  [[nodiscard]] static sys::Result<SessionTable> create(const Shape& shape);
  // Maps a table made by another process. Its header is checked against its size before anything in it is believed.
  [[nodiscard]] static sys::Result<SessionTable> open(sys::UniqueFd memfd);

  [[nodiscard]] int fd() const { return memfd_.get(); }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  // No slot from here on has ever been used. Asked of the file's holes: to read a slot that was not used would make it
  // cost memory.
  [[nodiscard]] std::uint32_t slots_used() const;

  [[nodiscard]] SessionRecord& record(std::uint32_t slot) const;
  [[nodiscard]] std::span<std::byte> extension(std::uint32_t slot) const;
  [[nodiscard]] PipeRecord& pipe(std::uint32_t index) const;
  [[nodiscard]] CounterBlock& counters(std::uint32_t loop) const;
  [[nodiscard]] CounterBlock& control_counters() const { return counters(shape_.loops); }
  [[nodiscard]] ControlRecord& control_record() const;
  // The loop's buffer: bytes on their way from one socket to the other, whether looked at or taken (see Hold).
  [[nodiscard]] std::span<std::byte, kBufferBytes> buffer(std::uint32_t loop) const;

 private:
  struct Header;
  struct Unmapper {
    std::size_t size;
    void operator()(std::byte* base) const;
  };

  [[nodiscard]] static sys::Result<SessionTable> map(sys::UniqueFd memfd, const Shape& shape);
  [[nodiscard]] static std::size_t size_of(const Shape& shape);

  sys::UniqueFd memfd_;
  Shape shape_;
  std::unique_ptr<std::byte, Unmapper> base_;
  std::byte* loops_ = nullptr;
  std::byte* pipes_ = nullptr;
  std::byte* records_ = nullptr;
  std::byte* extensions_ = nullptr;
};

}  // namespace ravelin::relay
