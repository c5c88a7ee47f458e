// What a worker is handed by its keeper: the session table and every descriptor that it names, under the slots and
// generations that were told to the keeper. What another process wrote is believed only where it can be checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "relay/keeper_channel.h"
#include "relay/keeper_wire.h"
#include "relay/session_table.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

struct Inheritance {
  // The number of a listener that was opened for this process alone: no session has come from there.
  static constexpr std::uint16_t kNoListener = 0xffff;

  struct Listener {
    ListenerNumber number;  // in the process that used it last
    std::string key;
    sys::UniqueFd fd;
  };
  struct Pipe {
    std::uint32_t index = 0;
    sys::UniqueFd in;
    sys::UniqueFd out;
  };
  struct Session {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    sys::UniqueFd client;
    sys::UniqueFd origin;  // none if there was none yet
  };

  HandOverCause cause = HandOverCause::fresh;
  bool draining = false;  // no listener is wanted any more
  sys::UniqueFd table;    // none: nothing was there before
  std::vector<Listener> listeners;
  std::vector<Pipe> pipes;
  std::vector<Session> sessions;
  std::vector<sys::UniqueFd> newcomers;  // accepted and not begun, if they are clients at all

  // Adds what one message brings; one of a later version brings nothing. Fails on any other that brings nothing.
  [[nodiscard]] sys::Result<void> take(Received received);
};

// A listener's name between processes; the same for the same line of a configuration.
[[nodiscard]] std::string listener_key(const sys::SocketAddress& wanted);
[[nodiscard]] std::string listener_key(const std::string& unix_path);

struct Claim {
  std::uint32_t sessions = 0;  // that go on
  std::uint32_t lost = 0;      // whose sockets did not come along
};

// Puts the inherited descriptors into the table in the place of the dead process's numbers, and corrects every record
// that could lead its reader astray: numbers out of bounds, a pipe with two owners, a session that has killed two
// processes. Such a record is left as `closing` with a reason, one without descriptors too.
// `renumber` gives each record the number that its listener has now, whatever stands there.
[[nodiscard]] Claim claim(const SessionTable& table, Inheritance& inheritance,
                          const std::function<void(SessionRecord&)>& renumber);

}  // namespace ravelin::relay
