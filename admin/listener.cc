#include "admin/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "sys/descriptor.h"

namespace ravelin::admin {
namespace {

constexpr int kBacklog = 128;

}  // namespace

sys::Result<Listener> Listener::open(const sys::Endpoint& endpoint, mode_t mode) {
  return endpoint.is_unix() ? open_unix(endpoint, mode) : open_tcp(endpoint);
}

sys::Result<Listener> Listener::open_unix(const sys::Endpoint& endpoint, mode_t mode) {
  auto opened = sys::listen_on_unix(endpoint.path, kBacklog, mode);
  if (!opened) return tl::unexpected(opened.error());
  return Listener(std::move(opened->fd), endpoint, std::move(opened->file));
}

sys::Result<Listener> Listener::open_tcp(const sys::Endpoint& endpoint) {
  const auto address = endpoint.literal();
  if (!address || !address->is_loopback()) {
    return sys::fail(0, "cannot listen on {}: expected an address of loopback, 127.0.0.1:PORT or [::1]:PORT",
                     endpoint.text());
  }
  sys::UniqueFd fd(::socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  Listener listener(std::move(fd), endpoint, {});
  if (!listener.fd_) return sys::fail(errno, "cannot listen on {}", endpoint.text());
  sockaddr_storage storage{};
  const socklen_t length = address->to(storage);
  // SO_REUSEADDR: a start right after an end finds the old connections in TIME_WAIT.
  if (!sys::set_option(listener.fd(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      ::bind(listener.fd(), reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      ::listen(listener.fd(), kBacklog) != 0) {
    return sys::fail(errno, "cannot listen on {}", endpoint.text());
  }
  const auto bound = sys::SocketAddress::local_of(listener.fd());
  if (!bound) return tl::unexpected(bound.error());
  listener.endpoint_.port = bound->port;
  return listener;
}

}  // namespace ravelin::admin
