#include "daemon/hint.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace ravelin::daemon {
namespace {

struct Hint {
  int code;
  std::string_view text;
};

constexpr std::string_view kMayNot =
    "a port below 1024 has to be passed in or needs CAP_NET_BIND_SERVICE (systemd: ListenStream= in the socket unit, "
    "or "
    "AmbientCapabilities=CAP_NET_BIND_SERVICE), and the "
    "directory of a socket has to be this user's (systemd: RuntimeDirectory=)";
constexpr std::string_view kNoDirectory =
    "the directory of a socket has to be there: mkdir -p, or systemd's RuntimeDirectory=";
constexpr std::string_view kNoMemory = "the machine or the service's memory limit (systemd: MemoryMax=) is too small";

constexpr std::array kHints{
    Hint{EACCES, kMayNot},
    Hint{EPERM, kMayNot},
    Hint{EADDRINUSE, "somebody else listens there: `ss -ltnp` names who, `ss -lxp` for a Unix socket"},
    Hint{EADDRNOTAVAIL,
         "this machine has no such address: `ip address` shows those it has, and a name has to resolve "
         "to one of them (/etc/hosts, DNS)"},
    Hint{EAFNOSUPPORT, "the kernel does without this kind of address: listen on one of another kind"},
    Hint{ENOENT, kNoDirectory},
    Hint{ENOTDIR, kNoDirectory},
    Hint{EROFS, "the file system is read-only: name a place that is not (systemd: RuntimeDirectory=)"},
    Hint{EEXIST, "a file that is no socket stands there: move it away or name another place"},
    Hint{EMFILE, "raise the limit of descriptors (systemd: LimitNOFILE=, else ulimit -n)"},
    Hint{ENFILE, "the whole machine is out of descriptors: raise the sysctl fs.file-max"},
    Hint{ENOMEM, kNoMemory},
    Hint{ENOBUFS, kNoMemory},
};

}  // namespace

std::string_view hint_for(const sys::Error& error) {
  const auto found = std::ranges::find(kHints, error.code, &Hint::code);
  return found == kHints.end() ? std::string_view() : found->text;
}

}  // namespace ravelin::daemon
