// What the log says of every session, whichever daemon carried it, and what kind of end is worth a warning.
#pragma once

#include "relay/session_record.h"
#include "sys/log.h"

namespace ravelin::relay {

// How loud a session's last line is.
[[nodiscard]] sys::LogLevel closing_level(const SessionRecord& record);

// Asks the sockets for what the line says of them; costs two system calls, so only where there will be a line.
void measure_round_trips(SessionRecord& record);

// attempts bytes_up bytes_down duration_ms end_side end_kind reason rtt_client_us rtt_origin_us
void add_session_fields(sys::LogLine& line, const SessionRecord& record);

// The client asked for something and was not served, or the way to the origin is broken: somebody may look for why.
[[nodiscard]] bool is_failure(Reason reason);

// No byte of payload went either way.
[[nodiscard]] bool is_silent(const SessionRecord& record);

}  // namespace ravelin::relay
