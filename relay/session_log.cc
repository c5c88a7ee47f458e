#include "relay/session_log.h"

#include "relay/socket.h"

namespace ravelin::relay {

sys::LogLevel closing_level(const SessionRecord& record) {
  return is_failure(record.reason) ? sys::LogLevel::warning : sys::LogLevel::info;
}

void measure_round_trips(SessionRecord& record) {
  record.rtt_client_us = rtt_us(record.client_fd);
  if (record.origin_fd >= 0) record.rtt_origin_us = rtt_us(record.origin_fd);
}

void add_session_fields(sys::LogLine& line, const SessionRecord& record) {
  line.field("attempts", record.attempts)
      .field("bytes_up", record.up.moved)
      .field("bytes_down", record.down.moved)
      .field("duration_ms", record.last_activity_ms - record.accepted_mono_ms)
      .field("end_side", name(record.end_side))
      .field("end_kind", name(record.end_kind))
      .field("reason", name(record.reason))
      .field("rtt_client_us", record.rtt_client_us)
      .field("rtt_origin_us", record.rtt_origin_us);
}

bool is_failure(Reason reason) {
  switch (reason) {
    case Reason::no_origin:
    case Reason::connect_refused:
    case Reason::connect_timeout:
    case Reason::connect_unreachable:
    case Reason::no_source_port:
    case Reason::no_descriptors:
    case Reason::internal:
    case Reason::poisonous:
    case Reason::origin_sessions:
      return true;
    default:
      return false;
  }
}

bool is_silent(const SessionRecord& record) {
  return record.up.moved == 0 && record.down.moved == 0;
}

}  // namespace ravelin::relay
