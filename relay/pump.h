// Moves the bytes of one direction from one socket to the other; every byte before the end of the stream, and then the
// end. There are three ways for a byte, and each flow changes between them by itself:
//
//   splice   socket → pipe of the pool → socket      large transfers; the bytes never leave the kernel
//   copy     recv into the loop's buffer, send       small ones: fewer system calls
//   look     peek, send, then consume what was sent  where no pipe is to be had
//
// At any instant the kernel and the session table together know where every byte is. In a pipe: the flow's record named
// the pipe before a byte could enter it. In the source's socket: looked at, perhaps sent, but not consumed. Or in the
// loop's buffer, which lies in the table: what was taken and what was given can be read back from TCP's counters (see
// recovery.h). Sockets that do not count their bytes are never copied.
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
  bool counted;  // both are TCP
  // Stays in the record, because reading it clears it in the socket: what follows the source's last byte is then no end
  // of the stream.
  std::int32_t& source_error;
};
[[nodiscard]] Flow flow_from(SessionRecord& record, Side side);

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
  // skipped and the sent ones. True: the client had said no more than that. On failure (an errno) nothing has been
  // consumed.
  [[nodiscard]] sys::Result<bool> open(Flow flow, std::span<const std::byte> header, std::size_t skip);

  // Consumes `count` bytes that have been sent on already.
  void consume(int from, std::size_t count);

 private:
  [[nodiscard]] bool move_some(Flow& flow, std::size_t most, PumpResult& result);
  [[nodiscard]] bool empty_pipe(Flow& flow, PumpResult& result);
  [[nodiscard]] bool fill_pipe(Flow& flow, std::size_t most, PumpResult& result);
  [[nodiscard]] bool copy_some(Flow& flow, PumpResult& result);
  [[nodiscard]] bool look_and_send(Flow& flow, PumpResult& result);
  [[nodiscard]] int put_aside(FlowRecord& record, std::span<const std::byte> rest);
  void release_pipe(FlowRecord& record);

  PipePool& pool_;
  std::span<std::byte> buffer_;
};

}  // namespace ravelin::relay
