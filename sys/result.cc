#include "sys/result.h"

#include <cstring>

namespace ravelin::sys {

std::string Error::text() const {
  if (code == 0) return what;
  return fmt::format("{}: {}", what, ::strerrordesc_np(code) ? ::strerrordesc_np(code) : "unknown error");
}

Exit exit_for(const Error& error) {
  switch (error.code) {
    case EACCES:
    case EPERM:
      return Exit::no_permission;
    case EADDRINUSE:
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENOENT:
    case ENOTDIR:
    case EROFS:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return Exit::unavailable;
    default:
      return Exit::failed;
  }
}

}  // namespace ravelin::sys
