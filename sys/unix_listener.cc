#include "sys/unix_listener.h"

#include <sys/socket.h>

#include "sys/address.h"

namespace ravelin::sys {
namespace {

UniqueFd stream_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// connect(2) on a Unix socket: ECONNREFUSED means that a file is there and no socket behind it listens. Anything else,
// a full backlog (EAGAIN) or a lack of permission (EACCES) included, means that it may be in use.
bool nobody_answers(const sockaddr_storage& address, socklen_t length) {
  const UniqueFd probe = stream_socket();
  return probe && ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 &&
         errno == ECONNREFUSED;
}

// Takes away the socket file of a process that died.
Result<void> remove_stale(const std::string& path, const sockaddr_storage& address, socklen_t length) {
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0) {
    if (errno == ENOENT) return {};
    return fail(errno, "cannot listen on unix:{}", path);
  }
  if (!S_ISSOCK(before.st_mode)) return fail(EEXIST, "cannot listen on unix:{}: not a socket", path);
  if (!nobody_answers(address, length)) return fail(EADDRINUSE, "cannot listen on unix:{}", path);
  struct stat now {};
  if (::lstat(path.c_str(), &now) != 0 || !is_same_file(before, now)) {
    return fail(EADDRINUSE, "cannot listen on unix:{}", path);
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail(errno, "cannot remove the stale socket {}", path);
  return {};
}

}  // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  if (::lstat(path_.c_str(), &status_) != 0) path_.clear();
}

SocketFile::~SocketFile() {
  struct stat now {};
  if (!path_.empty() && ::lstat(path_.c_str(), &now) == 0 && is_same_file(now, status_)) ::unlink(path_.c_str());
}

Result<UnixListener> listen_on_unix(const std::string& path, int backlog, std::optional<mode_t> mode) {
  sockaddr_storage address{};
  const auto length = unix_address(path, address);
  if (!length) return tl::unexpected(length.error());
  UniqueFd fd = stream_socket();
  if (!fd) return fail(errno, "cannot listen on unix:{}", path);
  const bool has_file = !path.starts_with('@');
  const auto bind = [&] { return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), *length) == 0; };
  bool bound = bind();
  if (!bound && errno == EADDRINUSE && has_file) {
    if (auto removed = remove_stale(path, address, *length); !removed) return tl::unexpected(removed.error());
    bound = bind();
  }
  if (!bound) return fail(errno, "cannot listen on unix:{}", path);
  UnixListener listener{.fd = std::move(fd), .file = has_file ? SocketFile(path) : SocketFile()};
  // Nobody gets in between bind and chmod: a socket that does not listen yet refuses everyone.
  if (has_file && mode && ::chmod(path.c_str(), *mode) != 0) return fail(errno, "cannot set the mode of {}", path);
  if (::listen(listener.fd.get(), backlog) != 0) return fail(errno, "cannot listen on unix:{}", path);
  return listener;
}

}  // namespace ravelin::sys
