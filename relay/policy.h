// What a daemon decides about its sessions. The engine accepts, connects, moves bytes, watches the clock and closes; a
// policy says what the client's first bytes mean, where to connect, what to send first, and what to write down at the
// end.
//
// Each loop has a policy object of its own and calls it on the loop's thread only, so a policy needs no lock for what
// it owns. Calls must not block. The record stands in shared memory; the extension is the policy's own part of the
// table, of the size that it asked for, zeroed when a session begins.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/session_record.h"
#include "sys/result.h"

namespace ravelin::relay {

// A session as a policy sees it.
struct SessionView {
  SessionRecord& record;
  std::span<std::byte> extension;
};

// What the client's first bytes mean.
struct Opening {
  enum class Verdict : std::uint8_t {
    need_more,  // look again when more has come
    proceed,    // connect to an origin
    refuse,     // end with a reset for `reason`
    close,      // end without a reset: nothing of value was said
  };
  Verdict verdict = Verdict::need_more;
  std::uint32_t skip = 0;  // proceed: leading bytes that are not forwarded
  Reason reason = Reason::none;
};

// One place to connect to.
struct Target {
  sockaddr_storage address{};
  socklen_t length = 0;
  std::uint16_t origin = 0;  // the policy's name for it, kept in the record
};

// How many bytes a policy may put in front of a session.
inline constexpr std::size_t kMaxHeader = 4096;
// How many of the client's first bytes a policy gets to see at most.
inline constexpr std::size_t kMaxPeek = 16384;

class SessionPolicy {
 public:
  virtual ~SessionPolicy() = default;

  // Whether inspect() looks at the bytes. If not, any byte at all means "proceed, and skip none".
  [[nodiscard]] virtual bool looks_at_bytes() const { return true; }

  // Called with the client's bytes so far, of which none is consumed, whenever there are more of them; `ended` when no
  // more will come. Not called at all on listeners that do not wait for the client.
  virtual Opening inspect(SessionView session, std::span<const std::byte> bytes, bool ended) = 0;

  // The first_byte timeout has passed while inspect() wanted more. The default ends the session.
  virtual Opening on_silence(SessionView session, std::span<const std::byte> bytes);

  // Where to connect, called again after each failed attempt; nothing: there is no (further) origin to try.
  virtual std::optional<Target> next_target(SessionView session) = 0;

  // next_target() had nothing. How the client is told: by a reset, or by the end of the stream.
  [[nodiscard]] virtual EndKind end_without_target(SessionView session);

  // The socket toward `target` exists and is not connected: the place to bind it and to set options. A failure counts
  // as a failed attempt.
  virtual sys::Result<void> prepare(SessionView session, int fd, const Target& target);

  // The attempt ended with `error` (an errno). Called before next_target() is asked again.
  virtual void attempt_failed(SessionView session, int error);

  // The origin has accepted: what goes in front of the client's bytes, at most kMaxHeader. Returns the length.
  virtual std::size_t write_header(SessionView session, std::span<std::byte> out) = 0;

  // Before any session is taken over: the names of the listeners that sessions came from and that are not in the
  // settings any more. Records know them by the numbers that follow those of the settings.
  virtual void removed_listeners(const std::vector<std::string>& names);

  // A relaying session may have to be ended at some moment, or no longer: the place to set its end_by_ms. Called for
  // each of a loop's sessions when Engine::review_sessions() was.
  virtual void review(SessionView session);

  // The session is in the table as relaying. Also called for each relaying session that this process takes over.
  virtual void relaying(SessionView session);

  // The end is decided, the sockets are still open and nothing has been signalled yet: the last moment to measure them
  // (see measure_round_trips).
  virtual void ending(SessionView session);

  // All is over; the record is complete and about to be freed. The place to log and count.
  virtual void ended(SessionView session) = 0;
};

inline Opening SessionPolicy::on_silence(SessionView, std::span<const std::byte>) {
  return {.verdict = Opening::Verdict::refuse, .reason = Reason::no_first_byte};
}
inline EndKind SessionPolicy::end_without_target(SessionView) {
  return EndKind::reset;
}
inline sys::Result<void> SessionPolicy::prepare(SessionView, int, const Target&) {
  return {};
}
inline void SessionPolicy::attempt_failed(SessionView, int) {}
inline void SessionPolicy::removed_listeners(const std::vector<std::string>&) {}
inline void SessionPolicy::review(SessionView) {}
inline void SessionPolicy::relaying(SessionView) {}
inline void SessionPolicy::ending(SessionView) {}

}  // namespace ravelin::relay
