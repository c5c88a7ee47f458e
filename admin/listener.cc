#include "admin/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>

#include "sys/descriptor.h"

namespace ravelin::admin {
namespace {

constexpr int kBacklog = 128;

sys::UniqueFd stream_socket(int family) {
  return sys::UniqueFd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// connect(2) on a Unix socket: ECONNREFUSED means that a file is there and no socket behind it listens. Anything else,
// a full backlog (EAGAIN) or a lack of permission (EACCES) included, means that it may be in use.
bool nobody_answers(const sockaddr_storage& address, socklen_t length) {
  const sys::UniqueFd probe = stream_socket(AF_UNIX);
  return probe && ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 &&
         errno == ECONNREFUSED;
}

// Takes away the socket file of a process that died.
sys::Result<void> remove_stale(const sys::Endpoint& endpoint, const sockaddr_storage& address, socklen_t length) {
  struct stat before {};
  if (::lstat(endpoint.path.c_str(), &before) != 0) {
    if (errno == ENOENT) return {};
    return sys::fail(errno, "cannot listen on {}", endpoint.text());
  }
  if (!S_ISSOCK(before.st_mode)) return sys::fail(EEXIST, "cannot listen on {}: not a socket", endpoint.text());
  if (!nobody_answers(address, length)) return sys::fail(EADDRINUSE, "cannot listen on {}", endpoint.text());
  struct stat now {};
  if (::lstat(endpoint.path.c_str(), &now) != 0 || now.st_ino != before.st_ino || now.st_dev != before.st_dev) {
    return sys::fail(EADDRINUSE, "cannot listen on {}", endpoint.text());
  }
  if (::unlink(endpoint.path.c_str()) != 0 && errno != ENOENT) {
    return sys::fail(errno, "cannot remove the stale socket {}", endpoint.path);
  }
  return {};
}

}  // namespace

sys::Result<Listener> Listener::open(const sys::Endpoint& endpoint, mode_t mode) {
  return endpoint.is_unix() ? open_unix(endpoint, mode) : open_tcp(endpoint);
}

sys::Result<Listener> Listener::open_unix(const sys::Endpoint& endpoint, mode_t mode) {
  sockaddr_storage address{};
  const auto length = sys::unix_address(endpoint.path, address);
  if (!length) return tl::unexpected(length.error());
  Listener listener(stream_socket(AF_UNIX), endpoint);
  if (!listener.fd_) return sys::fail(errno, "cannot listen on {}", endpoint.text());
  const bool has_file = !endpoint.path.starts_with('@');
  const auto bind = [&] { return ::bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), *length) == 0; };
  bool bound = bind();
  if (!bound && errno == EADDRINUSE && has_file) {
    if (auto removed = remove_stale(endpoint, address, *length); !removed) return tl::unexpected(removed.error());
    bound = bind();
  }
  if (!bound) return sys::fail(errno, "cannot listen on {}", endpoint.text());
  if (has_file) {
    struct stat made {};
    if (::lstat(endpoint.path.c_str(), &made) == 0) listener.file_ = {.device = made.st_dev, .inode = made.st_ino};
    // Nobody gets in between bind and chmod: a socket that does not listen yet refuses everyone.
    if (::chmod(endpoint.path.c_str(), mode) != 0) return sys::fail(errno, "cannot set the mode of {}", endpoint.path);
  }
  if (::listen(listener.fd(), kBacklog) != 0) return sys::fail(errno, "cannot listen on {}", endpoint.text());
  return listener;
}

sys::Result<Listener> Listener::open_tcp(const sys::Endpoint& endpoint) {
  const auto address = endpoint.literal();
  if (!address || !address->is_loopback()) {
    return sys::fail(0, "cannot listen on {}: expected an address of loopback, 127.0.0.1:PORT or [::1]:PORT",
                     endpoint.text());
  }
  Listener listener(stream_socket(address->family), endpoint);
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

Listener::~Listener() {
  if (!fd_ || file_.inode == 0) return;
  struct stat now {};
  if (::lstat(endpoint_.path.c_str(), &now) != 0) return;
  if (now.st_dev == file_.device && now.st_ino == file_.inode) ::unlink(endpoint_.path.c_str());
}

}  // namespace ravelin::admin
