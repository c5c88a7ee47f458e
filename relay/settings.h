// What the engine is told at start. The daemons fill these from their configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/limits.h"
#include "sys/address.h"
#include "sys/units.h"

namespace ravelin::relay {

using sys::Duration;

// Zero means never.
struct Timeouts {
  Duration first_byte{std::chrono::seconds(30)};   // accept → the policy has seen enough
  Duration connect{std::chrono::seconds(5)};       // one attempt
  Duration half_closed{std::chrono::minutes(10)};  // one side has ended its stream, and nothing moves
  Duration idle{0};                                // nothing moves
};

// For TCP sockets of one leg; zero and empty leave a thing to the system. Keep-alive is on because middleboxes drop
// silent flows after minutes (some after 350 s), and a peer that vanished is found no other way on a session without
// traffic.
struct SocketOptions {
  Duration keepalive_idle{std::chrono::seconds(60)};  // zero: no keep-alive
  Duration keepalive_interval{std::chrono::seconds(15)};
  unsigned keepalive_probes = 4;
  Duration user_timeout{std::chrono::seconds(120)};  // TCP_USER_TIMEOUT
  std::string congestion_control;                    // TCP_CONGESTION
  std::uint32_t max_segment = 0;                     // TCP_MAXSEG, bytes
  std::uint32_t mark = 0;                            // SO_MARK, for routing and firewalls
  sys::ByteCount receive_buffer{0};                  // SO_RCVBUF: of this size always, and the kernel tunes no more
  sys::ByteCount send_buffer{0};                     // SO_SNDBUF
};

struct ListenerOptions {
  std::string name;  // as logged
  sys::Endpoint address;
  bool wait_for_client = true;  // false: connect at once, for protocols in which the server speaks first
  int backlog = 4096;           // the kernel caps it at net.core.somaxconn
  Timeouts timeouts;
  ListenerLimits limits;
  SocketOptions client;
  SocketOptions origin;
};

struct EngineSettings {
  unsigned loops = 0;              // 0: one for each processor that this process may use
  std::uint32_t max_sessions = 0;  // 0: what the descriptor limit allows, a million at most
  AtLimit at_max_sessions = AtLimit::leave_in_backlog;
  std::uint32_t max_pipes = 256;  // for all loops together
  sys::ByteCount pipe_size{1 << 20};
  std::size_t extension_bytes = 0;  // of the policy, a session
  std::vector<ListenerOptions> listeners;
  std::size_t removed_listeners = 0;  // the last ones of them: not listened on, but sessions have come from there
};

}  // namespace ravelin::relay
