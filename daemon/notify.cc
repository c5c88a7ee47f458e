#include "daemon/notify.h"

#include <sys/socket.h>

#include <cstdlib>

#include "sys/address.h"
#include "sys/unique_fd.h"

namespace ravelin::daemon {

void notify(std::string_view state) {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  sockaddr_storage address{};
  const auto length = socket == nullptr ? sys::Result<socklen_t>(0) : sys::unix_address(socket, address);
  if (!length || *length == 0) return;
  const sys::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  (void)::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 *length);
}

}  // namespace ravelin::daemon
