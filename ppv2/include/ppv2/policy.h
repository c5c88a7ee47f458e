// Who may claim what: the rule that makes looking for a header safe. The protocol forbids guessing (proxy-protocol.txt
// section 2), because a client could then choose its own address. So the *measured* address of the sender, as accept4()
// gave it, decides whether a header may count, and the bytes never do. Pure functions over one table; any thread.
#pragma once

#include <cstdint>

#include "ppv2/decoder.h"
#include "ppv2/export.h"

namespace ppv2 {

// What a listener expects of its connections.
enum class Policy : std::uint8_t {
  reject,   // a port without the protocol: a header is an error
  require,  // only trusted sources, and only with a header
  sniff,    // both kinds of clients on one port
};

// What a header from a source that is not trusted does under `sniff`.
enum class Untrusted : std::uint8_t {
  reject,  // end the connection
  mark,    // take it off and keep the claim, marked as not trusted
  pass,    // not looked for: the bytes go on untouched
};

// A listener's whole rule. The default is the strictest.
struct Rules {
  Policy policy = Policy::require;          // what is expected
  Untrusted untrusted = Untrusted::reject;  // under sniff: of a header from a source that is not trusted
};

// What to do with a connection now.
enum class Action : std::uint8_t {
  wait,    // for more bytes, or the deadline
  accept,  // consume header_length bytes, keep the claim
  pass,    // no header: every byte goes on
  reject,  // end the connection
};

// What decide() says, and why.
struct Verdict {
  Action action = Action::wait;  // everything but wait is final
  bool trusted = false;          // accept: the claim may stand for the measured address
  Reason reason = Reason::none;  // reject: what to count and to log
};

// What has just happened. A caller with two deadlines, one for the first byte and one for the whole header, both
// counted from accept, says `timeout` at whichever passes first: the decision sees by itself whether a byte has come.
enum class Moment : std::uint8_t {
  bytes,    // something arrived
  timeout,  // the deadline for the header has passed
  eof,      // the peer will send nothing more
};

// `trusted_source`: the measured peer is one that may speak for others. After `timeout` and `eof` it never says wait.
[[nodiscard]] PPV2_EXPORT Verdict decide(Rules rules, bool trusted_source, const Decoded& decoded,
                                         Moment moment = Moment::bytes) noexcept;

// The connection can be ended or passed on before anything of it is read: reject, pass, or wait for bytes.
[[nodiscard]] PPV2_EXPORT Verdict decide_unread(Rules rules, bool trusted_source) noexcept;

}  // namespace ppv2
