#include "sys/descriptor.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ravelin::sys {

Result<std::size_t> readable_bytes(int fd) {
  int pending = 0;
  if (::ioctl(fd, FIONREAD, &pending) != 0) return fail(errno, "FIONREAD");
  return static_cast<std::size_t>(pending);
}

Result<std::string> read_file(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail(errno, "fstat");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return fail(count < 0 ? errno : EIO, "pread");
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

void fill_standard_streams() {
  // open(2) takes the lowest free number, so each closed stream gets its own.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR);
  }
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

}  // namespace ravelin::sys
