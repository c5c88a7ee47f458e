#include "relay/heir.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <vector>

#include "relay/oom_score.h"

namespace ravelin::relay {
namespace {

constexpr std::size_t kBatch = 252;
constexpr const char* kDescriptors = "/proc/self/fd";
constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 1'000'000};

bool is_open(int fd) {
  return fd >= 0 && ::fcntl(fd, F_GETFD) >= 0;
}

// Connected, and not told to end: one whose end has been decided, and whose closing alone was left to do, takes no byte
// more, not even none of them (tcp_sendmsg and unix_stream_sendmsg look for that first).
bool is_living_stream(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return false;
  sockaddr_storage peer{};
  length = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  return ::send(fd, nullptr, 0, MSG_NOSIGNAL | MSG_DONTWAIT) == 0;
}

// Calls `visit` with every open descriptor's number. By hand, because opendir(3) allocates.
template <class Visit>
void for_each_descriptor(Visit visit) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t next;
    std::uint16_t bytes;
    std::uint8_t type;
    char name[1];
  };
  const int folder = ::open(kDescriptors, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) std::array<char, 16 << 10> entries;
  for (;;) {
    const long filled = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (filled <= 0) break;
    for (const char* at = entries.data(); at < entries.data() + filled;) {
      const auto* entry = reinterpret_cast<const Entry*>(at);
      at += entry->bytes;
      if (entry->name[0] == '.') continue;
      const int fd = std::atoi(entry->name);
      if (fd != folder) visit(fd);
    }
  }
  ::close(folder);
}

// One message in the making. Its memory is there before the heir is: a process that was split off a thread must not
// allocate, because another thread may have held the allocator's lock.
class LastWords {
 public:
  LastWords(int channel, KeeperKind kind) : channel_(channel) {
    message_.kind = kind;
    message_.items.reserve(kBatch);
    bytes_.reserve(kMostMessageBytes);
  }

  void add(const KeeperItem& item, int first, int second) {
    message_.items.push_back(item);
    fds_[count_++] = first;
    if (second >= 0) fds_[count_++] = second;
    if (count_ >= kBatch - 1) send();
  }

  void send() {
    if (count_ == 0) return;
    encode(message_, bytes_);
    iovec part{.iov_base = bytes_.data(), .iov_len = bytes_.size()};
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = control_.data();
    packet.msg_controllen = CMSG_SPACE(count_ * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&packet);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count_ * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds_.data(), count_ * sizeof(int));
    while (::sendmsg(channel_, &packet, MSG_NOSIGNAL) < 0) {
      if (errno != EAGAIN && errno != ETOOMANYREFS && errno != EINTR) ::_exit(1);  // the keeper is gone as well
      ::nanosleep(&kMoment, nullptr);
    }
    // The message keeps them open. What is still open at the end has not been told of.
    for (std::size_t i = 0; i < count_; ++i) ::close(fds_[i]);
    message_.items.clear();
    count_ = 0;
  }

 private:
  int channel_;
  KeeperMessage message_;
  std::vector<std::byte> bytes_;
  std::array<int, kBatch> fds_{};
  std::size_t count_ = 0;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kBatch)> control_{};
};

void say_all(const SessionTable& table, LastWords& pipes, LastWords& sessions, LastWords& newcomers) {
  for (std::uint32_t i = 0; i < table.shape().pipes; ++i) {
    const PipeRecord pipe = table.pipe(i);
    if (is_open(pipe.in) && is_open(pipe.out)) pipes.add({.a = i, .b = 2}, pipe.in, pipe.out);
  }
  pipes.send();
  const std::uint32_t used = table.slots_used();
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    const SessionRecord& record = table.record(slot);
    if (record.phase == Phase::free || !is_open(record.client_fd)) continue;
    const int origin = is_open(record.origin_fd) ? record.origin_fd : -1;
    sessions.add({.a = slot, .b = record.generation, .c = origin < 0 ? 1U : 2U}, record.client_fd, origin);
  }
  sessions.send();
  for_each_descriptor([&](int fd) {
    if (is_living_stream(fd)) newcomers.add({.a = 1}, fd, -1);
  });
  newcomers.send();
}

[[noreturn]] void wait_and_say(int worker, const SessionTable& table, int channel, LastWords& pipes,
                               LastWords& sessions, LastWords& newcomers, std::optional<int> score) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "heir");
  // The pages that it shares with the worker are still there when that one has been killed for memory.
  set_oom_score(score);
  pollfd death{.fd = worker, .events = POLLIN, .revents = 0};
  while (::poll(&death, 1, -1) <= 0) continue;
  say_all(table, pipes, sessions, newcomers);
  // Now that the worker is gone the descriptors are the heir's alone. The channel is the last one to close: when its
  // end is seen, nothing of the worker's listens, holds or binds anything any more.
  const auto line = static_cast<unsigned>(channel);
  ::close_range(3, line - 1, 0);
  ::close_range(line + 1, ~0U, 0);
  ::_exit(0);
}

}  // namespace

sys::Result<pid_t> start_heir(const SessionTable& table, const KeeperChannel& channel, const sys::UniqueFd& worker) {
  LastWords pipes(channel.fd(), KeeperKind::pipes);
  LastWords sessions(channel.fd(), KeeperKind::sessions);
  LastWords newcomers(channel.fd(), KeeperKind::newcomers);
  const auto score = oom_score_of(::getppid());  // the keeper's
  // With other bits than these it would be fork(2); clone(2) of glibc wants a stack, which only threads need.
  const auto heir = static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (heir < 0) return sys::fail(errno, "cannot start the heir");
  if (heir == 0) wait_and_say(worker.get(), table, channel.fd(), pipes, sessions, newcomers, score);
  return heir;
}

void end_heir(pid_t heir) {
  if (heir <= 0) return;
  ::kill(heir, SIGKILL);
  while (::waitpid(heir, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace ravelin::relay
