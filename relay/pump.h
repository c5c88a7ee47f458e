// Moves the bytes of one direction: from one socket, through a pipe of the pool, to the other; every byte before the
// end of the stream, and then the end.
//
// At any instant the kernel and the session table together know where every byte is. In a pipe: the flow's record named
// the pipe before a byte could enter it. Or still in the source's socket: where no pipe is to be had, bytes are only
// looked at, sent, and then consumed by exactly what was sent. What the process looked at lies in the table's buffer.
//
// One pump belongs to one loop and is used from its thread only. It owns nothing but its view of pool and buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relay/pipe_pool.h"
#include "relay/session_record.h"

namespace ravelin::relay {

// One direction at work. The pump borrows both sockets.
struct Flow {
  FlowRecord& record;
  int from;
  int to;
  int source_error = 0;  // read from the source's SO_ERROR already: what follows its last byte is no end of stream
};

struct PumpResult {
  enum class State : std::uint8_t {
    waiting,             // nothing can be done until one of the sockets says so
    more,                // there is more to do, but others are waiting for their turn
    finished,            // the end of the stream has been passed on
    source_failed,       // `error` came from the source, all bytes before it have been passed on
    destination_failed,  // `error` came from the destination
  };
  State state = State::waiting;
  int error = 0;
  bool progress = false;  // a byte or the end of the stream moved
  bool short_of_pipes = false;
};

class Pump {
 public:
  // A session's turn ends after about this many bytes, so that one bulk transfer never starves the others.
  static constexpr std::size_t kTurn = 1 << 20;

  Pump(PipePool& pool, std::span<std::byte> buffer) : pool_(pool), buffer_(buffer) {}

  [[nodiscard]] PumpResult run(Flow flow);

  // Sends `header` and what the client has said behind its first `skip` bytes in one segment, then consumes exactly the
  // skipped and the sent ones. On failure (an errno) nothing has been consumed.
  [[nodiscard]] sys::Result<void> open(Flow flow, std::span<const std::byte> header, std::size_t skip);

  // Consumes `count` bytes that have been sent on already.
  void consume(int from, std::size_t count);

 private:
  [[nodiscard]] bool empty_pipe(Flow& flow, PumpResult& result);
  [[nodiscard]] bool fill_pipe(Flow& flow, std::size_t most, PumpResult& result);
  [[nodiscard]] bool copy_some(Flow& flow, PumpResult& result);
  void release_pipe(FlowRecord& record);

  PipePool& pool_;
  std::span<std::byte> buffer_;
};

}  // namespace ravelin::relay
