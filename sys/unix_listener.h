// A listening Unix socket and the file that it is found by.
//
// A socket file outlives its process. One that nobody answers on is left over and is replaced; one that somebody may
// still answer on, or that is no socket, is not ours to remove and an error.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::sys {

// The one owner of a socket's file: removes it at the end, unless somebody else has put another one in its place by
// then.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);  // as it is now; of a path that is not there nothing is owned
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})), status_(other.status_) {}
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

 private:
  std::string path_;  // empty: none
  struct stat status_ {};
};

struct UnixListener {
  UniqueFd fd;      // non-blocking
  SocketFile file;  // goes first; none where the name is abstract
};

// "@NAME" is abstract and has no file. `mode` is that of the file whatever the umask; without one the umask decides.
[[nodiscard]] Result<UnixListener> listen_on_unix(const std::string& path, int backlog,
                                                  std::optional<mode_t> mode = std::nullopt);

}  // namespace ravelin::sys
