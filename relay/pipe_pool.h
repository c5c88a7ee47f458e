// A loop's pool of kernel pipes, the waiting rooms that bytes pass through on their way from socket to socket.
//
// splice(2) cannot move bytes between two sockets directly; it needs a pipe in between. A flow takes a pipe when bytes
// arrive and gives it back when the last one has left, so idle sessions hold none. The pipes' descriptors stand in the
// session table, because the bytes in a pipe outlive this process.
//
// One pool belongs to one loop and is used from its thread only. It owns the idle
// pipes of its part of the table; a taken one belongs to the flow that took it until it is given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "relay/session_table.h"

namespace ravelin::relay {

class PipePool {
 public:
  // Pipes `first`, `first + step`, … of the table. `wanted_capacity` is asked of the kernel first, then less.
  PipePool(const SessionTable& table, std::uint32_t first, std::uint32_t step, std::size_t wanted_capacity);
  PipePool(const PipePool&) = delete;
  PipePool& operator=(const PipePool&) = delete;
  ~PipePool();

  // Takes over pipes that stand in the table already: those in `owned` belong to flows, the others are idle when empty
  // and closed when not.
  void adopt(const std::vector<bool>& owned);

  // The index of an empty pipe, or why there is none:
  //   EMFILE, ENFILE   no descriptors left
  //   EDQUOT           the pool's limit, or the kernel grants this user no pipe of a useful size
  // The caller then moves bytes without one; running out of pipes never ends a session.
  [[nodiscard]] sys::Result<std::int32_t> take();

  // Makes sure that the next take() gets a pipe. False: there is none to be had.
  [[nodiscard]] bool reserve();

  // Gives a pipe back. One that still holds bytes is closed: they belong to a session that is gone, and must never
  // surface in another one.
  void give_back(std::int32_t index);

  [[nodiscard]] const PipeRecord& pipe(std::int32_t index) const {
    return table_.pipe(static_cast<std::uint32_t>(index));
  }
  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

 private:
  [[nodiscard]] sys::Result<void> add_idle();
  [[nodiscard]] sys::Result<PipeRecord> make() const;
  void close(std::uint32_t index);

  const SessionTable& table_;
  std::size_t wanted_capacity_;
  std::vector<std::uint32_t> idle_;    // open and empty
  std::vector<std::uint32_t> unmade_;  // places in the table without a pipe
};

}  // namespace ravelin::relay
