// A listening socket for operators: a Unix socket with its file, or TCP on loopback. Owned by the server; the file goes
// with the owner, unless somebody else has put another one in its place by then.
#pragma once

#include <sys/stat.h>

#include "sys/address.h"
#include "sys/result.h"
#include "sys/unique_fd.h"
#include "sys/unix_listener.h"

namespace ravelin::admin {

class Listener {
 public:
  // Non-blocking and listening. Port 0 takes a free one. `mode` is that of the socket's file, whatever the umask.
  [[nodiscard]] static sys::Result<Listener> open(const sys::Endpoint& endpoint, mode_t mode);

  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  // As given, with the port that was bound.
  [[nodiscard]] const sys::Endpoint& endpoint() const { return endpoint_; }

 private:
  Listener(sys::UniqueFd fd, sys::Endpoint endpoint, sys::SocketFile file)
      : fd_(std::move(fd)), endpoint_(std::move(endpoint)), file_(std::move(file)) {}
  [[nodiscard]] static sys::Result<Listener> open_unix(const sys::Endpoint& endpoint, mode_t mode);
  [[nodiscard]] static sys::Result<Listener> open_tcp(const sys::Endpoint& endpoint);

  sys::UniqueFd fd_;
  sys::Endpoint endpoint_;
  sys::SocketFile file_;
};

}  // namespace ravelin::admin
