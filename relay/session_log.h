// The fields of a log line that every session has, whichever daemon carried it.
#pragma once

#include "relay/session_record.h"
#include "sys/log.h"

namespace ravelin::relay {

// attempts bytes_up bytes_down duration_ms end_side end_kind reason rtt_client_us rtt_origin_us
void add_session_fields(sys::LogLine& line, const SessionRecord& record);

// No byte of payload went either way.
[[nodiscard]] bool is_silent(const SessionRecord& record);

}  // namespace ravelin::relay
