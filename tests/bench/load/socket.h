// The few socket calls of the generator. IPv4 only: the benchmark runs over loopback.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sys/unique_fd.h"

namespace ravelin::bench {

// "127.0.0.1:8080"
[[nodiscard]] sockaddr_in parse_address(std::string_view text);
[[nodiscard]] std::string address_text(const sockaddr_in& address);
[[nodiscard]] sockaddr_in local_address(int fd);

[[nodiscard]] sys::UniqueFd listen_on(const sockaddr_in& address);

// Starts a non-blocking connection with TCP_NODELAY. Sources rotate over a few loopback addresses, so that the ports
// of one (source, destination) pair in TIME_WAIT never end a run. An empty descriptor says that it failed (errno).
[[nodiscard]] sys::UniqueFd start_connect(const sockaddr_in& to, unsigned turn);
// The same, and waits until the connection stands; the result is non-blocking.
[[nodiscard]] sys::UniqueFd connect_now(const sockaddr_in& to, unsigned turn);

// Takes up to `most` bytes off the socket without copying them (tcp(7), MSG_TRUNC).
ssize_t discard(int fd, std::size_t most);
// Sends up to `most` bytes of filler.
ssize_t send_filler(int fd, std::size_t most);

[[nodiscard]] std::string congestion_control(int fd);

}  // namespace ravelin::bench
