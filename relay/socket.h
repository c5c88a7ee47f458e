// How a session's sockets are set up, signalled and read out. Free functions over descriptors that somebody else owns.
//
// All of it holds while another process has duplicates of the descriptors: there close(2) is no signal at all, the peer
// sees nothing and goes on sending. So the ends of streams are always signalled by shutdown or disconnection.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "relay/settings.h"
#include "sys/address.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

// Options of TCP sockets; nothing on others. What is set on a listening socket holds for those that it accepts.
// First what the stream itself needs before its first byte: no delay, urgent data in its place, and what shapes it.
// Fails with what the kernel has not got or this process may not ask for.
[[nodiscard]] sys::Result<void> prepare_stream(const SocketOptions& options, int fd);
// Takes back what prepare_stream() and guard_against_silence() may have set on a listening socket under other settings.
void forget_options(int fd);

// Then how long a silent or unanswering peer is believed in, which matters to a connection that lives: keep-alive and
// user timeout.
void guard_against_silence(const SocketOptions& options, int fd);

// A bound, listening, non-blocking socket for one address. IPv6 sockets are IPv6-only, so that [::] and 0.0.0.0 can be
// listened on side by side.
[[nodiscard]] sys::Result<sys::UniqueFd> listen_on(const sys::SocketAddress& address, int backlog);

// The connection will come from `source`. Its port is taken when it connects, so that one port serves as many
// destinations as there are.
[[nodiscard]] sys::Result<void> come_from(const sys::SocketAddress& source, int fd);

// Looks at the bytes that wait at the front and takes none of them. What recv(2) says; never EINTR.
[[nodiscard]] ssize_t peek(int fd, std::span<std::byte> buffer);

// FIN: no more bytes will be sent. What is queued still goes out.
void finish_sending(int fd);

// RST, at once, whatever is queued either way. tcp(7) knows it as disconnection: connect to AF_UNSPEC. A Unix socket
// has no reset; its peer gets the end of the stream both ways.
void reset(int fd);

// What TCP itself counts. Nothing for other sockets.
struct TcpFacts {
  std::uint64_t received = 0;  // bytes that arrived in order, read or not
  std::uint64_t sent = 0;      // bytes given to the socket, acknowledged or not
  std::uint64_t unread = 0;    // of those received
  bool closed = false;         // by whatever: both streams have ended, or the connection has failed
  bool ended = false;          // the other side has ended its stream
  int error = 0;               // closed: what the socket said of it, which it says only once
};
[[nodiscard]] std::optional<TcpFacts> tcp_facts(int fd, bool connected_by_us);

// The smoothed round trip time; 0 where nothing measures it.
[[nodiscard]] std::uint32_t rtt_us(int fd);

}  // namespace ravelin::relay
