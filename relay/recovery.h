// Reads back, from the table and from the kernel, how far a session had come when the process that worked on it ended.
//
// The bytes of a flow are in the source's receive queue, in a pipe, in the destination's hands, or in the loop's
// buffer. TCP's own counters say how many were taken from the one and given to the other. More given than taken:
// looked-at bytes were sent and not consumed. More taken than given: the difference is the end of what was last
// received into the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "relay/pipe_pool.h"
#include "relay/session_record.h"

namespace ravelin::relay {

struct Resumption {
  enum class Action : std::uint8_t {
    wait,     // look at the client's first bytes again
    connect,  // nothing was sent to an origin: choose one anew
    relay,    // consume what has been sent already, then go on
    end,      // for `reason`
  };
  Action action = Action::end;
  Reason reason = Reason::none;
  std::uint64_t consume_up = 0;
  std::uint64_t consume_down = 0;
};

// Corrects the record (counts, pipes, ends of streams) by what the kernel says, and brings bytes that lie in the loop's
// buffer into a pipe: nobody may have used the buffer since the process ended. The descriptors in the record must be
// valid here, and its phase one of waiting, connecting and relaying. Dying in the middle of it and doing it again does
// no harm.
[[nodiscard]] Resumption take_stock(SessionRecord& record, PipePool& pipes, std::span<const std::byte> buffer);

// True for the one session of a loop, at most, for which the buffer matters: to be taken stock of first.
[[nodiscard]] bool is_in_buffer(const SessionRecord& record);

}  // namespace ravelin::relay
