// A listening socket for operators: a Unix socket with its file, or TCP on loopback. Owned by the server; the file goes
// with the owner, unless somebody else has put another one in its place by then.
//
// The file of a process that died is replaced; one that somebody still answers on, or that is no socket, is not.
#pragma once

#include <sys/stat.h>

#include "sys/address.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::admin {

class Listener {
 public:
  // Non-blocking and listening. Port 0 takes a free one. `mode` is that of the socket's file, whatever the umask.
  [[nodiscard]] static sys::Result<Listener> open(const sys::Endpoint& endpoint, mode_t mode);

  Listener(Listener&& other) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // As given, with the port that was bound.
  [[nodiscard]] const sys::Endpoint& endpoint() const { return endpoint_; }

 private:
  Listener(sys::UniqueFd fd, sys::Endpoint endpoint) : fd_(std::move(fd)), endpoint_(std::move(endpoint)) {}
  [[nodiscard]] static sys::Result<Listener> open_unix(const sys::Endpoint& endpoint, mode_t mode);
  [[nodiscard]] static sys::Result<Listener> open_tcp(const sys::Endpoint& endpoint);

  sys::UniqueFd fd_;
  sys::Endpoint endpoint_;
  struct {
    dev_t device = 0;
    ino_t inode = 0;
  } file_;  // of the socket's file as we made it; inode 0 when there is none
};

}  // namespace ravelin::admin
