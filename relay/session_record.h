// One session as it stands in the shared table: everything that has to be known about it when the process that worked
// on it is gone. Plain data of fixed size; a contract between versions of the program (see SessionTable's layout
// version).
//
// Written only by the loop that owns the session. A store that another process may have to rely on comes before the act
// it announces: a pipe's index before the first byte enters the pipe, `phase = relaying` before the first byte is sent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "sys/address.h"

namespace ravelin::relay {

enum class Phase : std::uint8_t {
  free,        // the slot holds no session
  waiting,     // for the client's first bytes; nothing of them is consumed
  connecting,  // to an origin; nothing has been sent to it, nothing consumed from the client
  relaying,    // bytes move
  closing,     // the end is decided and signalled; only descriptors are left to close
};

enum class Side : std::uint8_t { client, origin };
[[nodiscard]] constexpr Side other(Side side) {
  return side == Side::client ? Side::origin : Side::client;
}

// Who ended a session, and by what.
enum class EndSide : std::uint8_t { none, client, origin, self };
enum class EndKind : std::uint8_t { none, fin, reset, timeout };

// Why a session ended. The names, as logged and counted, stand in one table in session_record.cc.
enum class Reason : std::uint8_t {
  none,
  finished,             // both sides ended their streams
  peer_reset,           // a side reset its connection
  peer_unreachable,     // keep-alive or unacknowledged data ran into its limit on one side
  silent,               // the client left without a byte of payload
  no_first_byte,        // first_byte timeout
  idle,                 // idle timeout
  half_closed,          // half_closed timeout
  no_origin,            // no origin has an address to try
  connect_refused,      // the last origin tried refused
  connect_timeout,      // the last origin tried did not answer
  connect_unreachable,  // the last origin tried cannot be reached from here
  no_source_port,       // no free source port toward the origin
  no_descriptors,       // the process has none left
  header_invalid,       // gateway: a PROXY header that breaks the specification
  header_missing,       // gateway: a header is required here
  header_refused,       // gateway: a header from somebody who may not send one
  drained,              // closed by a drain that ran out of patience
  shutdown,             // the program was told to stop at once
  internal,             // a system call failed in a way that no rule foresees
  process_died,         // the process ended while the session was in set-up and known to it alone
  poisonous,            // two processes died of what this session made them do
  origin_sessions,      // every origin that could be tried has as many sessions as it may have
  origin_removed,       // its origin was taken out of the pool, and the pool closes what is left there
  listener_removed,     // in set-up when its listener was taken out of the settings
  killed,               // by an operator
  kCount
};
[[nodiscard]] std::string_view name(Reason reason);
[[nodiscard]] std::string_view name(EndSide side);
[[nodiscard]] std::string_view name(EndKind kind);

// Where a flow's bytes are that are neither in a socket nor in a pipe, for the few instructions that it takes.
enum class Hold : std::uint8_t {
  none,
  looked_at,  // read from the source without being taken from it; perhaps sent
  taken,      // from the source into the loop's buffer, from its start; perhaps sent. `moved` counts none of them.
};

// One direction of a session. `up` goes from client to origin, `down` the other way.
struct FlowRecord {
  static constexpr std::int32_t kNoPipe = -1;

  std::uint64_t moved = 0;      // payload bytes given to the destination
  std::int32_t pipe = kNoPipe;  // index in the table's pipes while bytes are in it
  std::uint32_t pending = 0;    // bytes in the pipe; a hint, FIONREAD is the truth
  std::uint8_t eof = 0;         // the source has ended its stream
  std::uint8_t fin_sent = 0;    // and the destination has been told
  Hold hold = Hold::none;
  std::uint8_t blocked = 0;   // waits for the destination to take more
  std::uint8_t urgent = 0;    // the source has sent urgent data, and splice(2) stops in front of it
  std::uint8_t ending = 0;    // the source will say no more than what it has said: read up to the end
  std::uint8_t splicing = 0;  // large transfers: by pipe. Else small ones: by the loop's buffer.
  std::uint8_t small = 0;     // small transfers in a row while splicing
};

struct SessionId {
  std::array<std::uint8_t, 16> bytes{};    // 48 bits of milliseconds since the epoch, then 80 random bits
  [[nodiscard]] std::string text() const;  // 32 hex digits
};

// Each process numbers the listeners of its settings, and those that are gone from them, anew. A number means nothing
// without its numbering: a process may die in the middle of renumbering.
struct ListenerNumber {
  std::uint16_t number = 0;
  std::uint16_t numbering = 0;
  bool operator==(const ListenerNumber&) const = default;
};

struct SessionRecord {
  std::uint32_t generation = 0;  // of the slot; late events of an earlier session carry another one
  Phase phase = Phase::free;
  EndSide end_side = EndSide::none;
  EndKind end_kind = EndKind::none;
  Reason reason = Reason::none;

  std::int32_t client_fd = -1;
  std::int32_t origin_fd = -1;
  std::int32_t client_error = 0;  // errno read from the socket: reading SO_ERROR clears it there
  std::int32_t origin_error = 0;

  std::uint16_t listener = 0;
  std::uint16_t origin = 0;        // index that the policy gave to the origin tried last
  std::uint16_t attempts = 0;      // connections tried
  std::uint16_t header_bytes = 0;  // what was put in front of the client's bytes toward the origin
  std::uint32_t skip_bytes = 0;    // bytes at the client's front that are not payload and are not forwarded
  std::uint32_t rtt_client_us = 0;
  std::uint32_t rtt_origin_us = 0;
  std::uint8_t settled = 0;  // it has lived long enough to be worth what only long sessions need
  std::uint8_t unused[3] = {};

  FlowRecord up;
  FlowRecord down;

  std::int64_t accepted_wall_us = 0;  // CLOCK_REALTIME
  std::int64_t accepted_mono_ms = 0;  // CLOCK_MONOTONIC, the same clock in every process
  std::int64_t last_activity_ms = 0;  // CLOCK_MONOTONIC of the last byte or change of state

  std::uint64_t tried = 0;      // the policy's: origins tried so far, one bit each
  std::int64_t end_by_ms = 0;   // CLOCK_MONOTONIC: it is ended then, because its origin was taken out; 0: it is not
  std::uint32_t source = 0;     // see Limiter; only the process that admitted or adopted the session may ask
  std::uint16_t numbering = 0;  // of `listener`, see ListenerNumber
  std::uint16_t listener_before = 0;  // its number in the numbering before that

  SessionId id;
  sys::SocketAddress client;        // measured: the accepted socket's peer
  sys::SocketAddress local;         // measured: the address that the client connected to
  sys::SocketAddress origin_peer;   // where the origin's connection goes
  sys::SocketAddress origin_local;  // and where it comes from

  // As it was before anybody has begun with `next`.
  [[nodiscard]] ListenerNumber listener_before_numbering(std::uint16_t next) const {
    if (numbering != next) return {.number = listener, .numbering = numbering};
    return {.number = listener_before, .numbering = static_cast<std::uint16_t>(next - 1)};
  }
  // In an order of stores that any death in between leaves readable.
  void renumber(std::uint16_t now, std::uint16_t next) {
    const std::uint16_t before = listener_before_numbering(next).number;
    store(listener_before, before);
    store(numbering, next);
    store(listener, now);
  }

  [[nodiscard]] FlowRecord& flow_from(Side side) { return side == Side::client ? up : down; }
  [[nodiscard]] std::int32_t fd(Side side) const { return side == Side::client ? client_fd : origin_fd; }
  // TCP counts what was taken from and given to its sockets, Unix sockets do not.
  [[nodiscard]] bool counts() const { return client.is_ip() && origin_peer.is_ip(); }
  [[nodiscard]] std::int32_t& error(Side side) { return side == Side::client ? client_error : origin_error; }

 private:
  static void store(std::uint16_t& field, std::uint16_t value) {
    std::atomic_ref(field).store(value, std::memory_order_release);
  }
};
static_assert(std::is_trivially_copyable_v<SessionRecord>);
static_assert(sizeof(FlowRecord) == 24);
static_assert(sizeof(SessionRecord) == 256);

}  // namespace ravelin::relay
