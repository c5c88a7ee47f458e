// Small questions about descriptors that several folders ask.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <optional>
#include <string>

#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::sys {

// Bytes waiting to be read in a pipe or socket.
[[nodiscard]] Result<std::size_t> readable_bytes(int fd);

// All of a file, from its start, wherever its offset is.
[[nodiscard]] Result<std::string> read_file(int fd);

// Opens /dev/null for each standard stream that the program was started without. Otherwise a socket becomes stderr, and
// the log goes to a client; libuv aborts when it closes such a descriptor.
void fill_standard_streams();

// RLIMIT_NOFILE's soft limit after raising it to the hard one, as far as the kernel lets us.
[[nodiscard]] std::size_t raise_descriptor_limit();

// False: the kernel refused. Most options are wishes, and a socket without them still works.
template <class T>
bool set_option(int fd, int level, int name, const T& value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

template <class T>
[[nodiscard]] std::optional<T> get_option(int fd, int level, int name) {
  T value{};
  socklen_t length = sizeof value;
  if (::getsockopt(fd, level, name, &value, &length) != 0) return std::nullopt;
  return value;
}

}  // namespace ravelin::sys
