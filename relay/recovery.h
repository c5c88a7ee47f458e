// Reads back, from the table and from the kernel, how far a session had come when the process that worked on it ended.
//
// The bytes of a flow are in the source's receive queue, in a pipe, or in the destination's hands. TCP's own counters
// say how many were taken from the one and given to the other; the difference between the two is what a process that
// died between sending looked-at bytes and consuming them left behind.
#pragma once

#include <cstdint>

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

// Corrects the record (counts, pipes, ends of streams) by what the kernel says. The descriptors in it must be valid
// here, and its phase one of waiting, connecting and relaying.
[[nodiscard]] Resumption take_stock(SessionRecord& record, PipePool& pipes);

}  // namespace ravelin::relay
