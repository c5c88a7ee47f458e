// Loaded into a daemon by LD_PRELOAD: makes system calls fail, fall short or take their time, at chosen rates, ends the
// worker in front of one, and moves the wall clock. The rates come in RIG_FAULTS, one rule a line, "CALL ERRNO
// PER_MILLION" (errno 0: a short count, -1: a pause, -2: a lie, -3: SIGKILL to the worker, and to nobody else); the file named by RIG_CONTROL is a struct control, shared with the rig, which
// switches the faults on and off.
//
// Faults are drawn from a sequence for each thread, seeded by RIG_SEED. Only what the kernel itself may do is done: a
// call that is given an error has no effect, and no call says "would block" while it would not, because nothing would
// ever wake up whoever believes it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call {
  kRecv,
  kSend,
  kSendmsg,
  kSplice,
  kConnect,
  kAccept4,
  kEpollCtl,
  kPipe2,
  kSocket,
  kFcntl,
  kRecvmsg,
  kClose,
  kSetsockopt,
  kCalls
};
static const char* const kNames[kCalls] = {"recv",  "send",   "sendmsg", "splice",  "connect", "accept4",   "epoll_ctl",
                                           "pipe2", "socket", "fcntl",   "recvmsg", "close",   "setsockopt"};
enum { kShort = 0, kPause = -1, kLie = -2, kKill = -3 };

struct control {
  _Atomic uint32_t enabled;
  uint32_t unused;
  _Atomic int64_t clock_offset_ns;
  _Atomic uint64_t injected[kCalls];
};

struct rule {
  int error;
  uint32_t per_million;
};
enum { kMostRules = 16 };

static struct control* control;
static struct rule rules[kCalls][kMostRules];
static uint64_t seed;
static pid_t worker;  // this process, if it is one; its heir has another pid
static _Atomic uint64_t threads;
static __thread uint64_t sequence;

// What has happened in this file's name so far: the next worker must not meet the fate of the last one at the same call.
static uint64_t history(void) {
  uint64_t sum = 0;
  for (int call = 0; call < kCalls; ++call) sum += atomic_load_explicit(&control->injected[call], memory_order_relaxed);
  return sum;
}

// xorshift64
static uint32_t draw(uint32_t below) {
  if (sequence == 0) sequence = (seed + 1 + history()) * 0x9e3779b97f4a7c15u + ++threads * 0xd1b54a32d192ed03u;
  sequence ^= sequence << 13;
  sequence ^= sequence >> 7;
  sequence ^= sequence << 17;
  return (uint32_t)((sequence >> 16) % below);
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("RIG_CONTROL");
  const char* text = getenv("RIG_FAULTS");
  const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return;
  control = page;
  worker = getenv("RAVELIN_KEEPER_CHANNEL") != NULL ? getpid() : 0;
  seed = strtoull(getenv("RIG_SEED") != NULL ? getenv("RIG_SEED") : "1", NULL, 10);
  char name[16];
  int error = 0;
  unsigned per_million = 0;
  int length = 0;
  for (; text != NULL && sscanf(text, "%15s %d %u%n", name, &error, &per_million, &length) == 3; text += length) {
    for (int call = 0; call < kCalls; ++call) {
      if (strcmp(name, kNames[call]) != 0) continue;
      struct rule* rule = rules[call];
      while (rule->per_million != 0) ++rule;
      *rule = (struct rule){error, per_million};
    }
  }
}

// What happens to this call: 0 nothing, 1 it falls short, 2 it lies, -1 it has failed with errno set.
static int strike(enum call call) {
  if (control == NULL || atomic_load_explicit(&control->enabled, memory_order_relaxed) == 0) return 0;
  for (const struct rule* rule = rules[call]; rule->per_million != 0; ++rule) {
    if (draw(1000000) >= rule->per_million) continue;
    if (rule->error == kKill && getpid() != worker) continue;
    atomic_fetch_add_explicit(&control->injected[call], 1, memory_order_relaxed);
    if (rule->error == kShort) return 1;
    if (rule->error == kLie) return 2;
    if (rule->error == kKill) kill(worker, SIGKILL);
    if (rule->error != kPause) {
      errno = rule->error;
      return -1;
    }
    const struct timespec pause = {0, 1000 * (long)draw(3000)};
    nanosleep(&pause, NULL);
  }
  return 0;
}

static size_t shorter(size_t length) {
  return length <= 1 ? length : 1 + draw(length > 1u << 20 ? 1u << 20 : (uint32_t)length - 1);
}

#define NEXT(type, name, ...)       \
  static type (*next)(__VA_ARGS__); \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name)

// A short count here would mean to the daemon that nothing more is there, as it does from the kernel: errors alone.
ssize_t recv(int fd, void* buffer, size_t length, int flags) {
  NEXT(ssize_t, recv, int, void*, size_t, int);
  return strike(kRecv) < 0 ? -1 : next(fd, buffer, length, flags);
}

// The lie is for the rig's own sake: a rig that does not find a lost byte is no use.
ssize_t send(int fd, const void* buffer, size_t length, int flags) {
  NEXT(ssize_t, send, int, const void*, size_t, int);
  const int what = strike(kSend);
  if (what < 0) return -1;
  if (what == 2 && length > 1) {
    const ssize_t sent = next(fd, buffer, length - 1, flags);
    return sent < 0 ? sent : sent + 1;
  }
  return next(fd, buffer, what == 1 ? shorter(length) : length, flags);
}

// The first part goes out whole: the send buffer of a connection that begins holds more than a header.
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  NEXT(ssize_t, sendmsg, int, const struct msghdr*, int);
  const int what = strike(kSendmsg);
  if (what < 0) return -1;
  if (what == 0 || message->msg_iovlen != 2) return next(fd, message, flags);
  struct iovec parts[2] = {message->msg_iov[0], message->msg_iov[1]};
  parts[1].iov_len = shorter(parts[1].iov_len);
  struct msghdr less = *message;
  less.msg_iov = parts;
  return next(fd, &less, flags);
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t length, unsigned flags) {
  NEXT(ssize_t, splice, int, off64_t*, int, off64_t*, size_t, unsigned);
  const int what = strike(kSplice);
  return what < 0 ? -1 : next(from, from_offset, to, to_offset, what > 0 ? shorter(length) : length, flags);
}

int connect(int fd, const struct sockaddr* address, socklen_t length) {
  NEXT(int, connect, int, const struct sockaddr*, socklen_t);
  // Disconnection is how a reset is sent, and has no reason to fail.
  return address->sa_family != AF_UNSPEC && strike(kConnect) < 0 ? -1 : next(fd, address, length);
}

int accept4(int fd, struct sockaddr* restrict address, socklen_t* restrict length, int flags) {
  NEXT(int, accept4, int, struct sockaddr*, socklen_t*, int);
  return strike(kAccept4) < 0 ? -1 : next(fd, address, length, flags);
}

// The event loop of libuv gives up when its own registrations fail; they are level-triggered, the sessions' are not.
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event* event) {
  NEXT(int, epoll_ctl, int, int, int, struct epoll_event*);
  const int session = operation == EPOLL_CTL_ADD && event != NULL && (event->events & EPOLLET) != 0;
  return session && strike(kEpollCtl) < 0 ? -1 : next(epoll, operation, fd, event);
}

int pipe2(int ends[2], int flags) {
  NEXT(int, pipe2, int*, int);
  return strike(kPipe2) < 0 ? -1 : next(ends, flags);
}

int socket(int domain, int type, int protocol) {
  NEXT(int, socket, int, int, int);
  return strike(kSocket) < 0 ? -1 : next(domain, type, protocol);
}

int fcntl(int fd, int command, ...) {
  NEXT(int, fcntl, int, int, ...);
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return command == F_SETPIPE_SZ && strike(kFcntl) < 0 ? -1 : next(fd, command, argument);
}

ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  NEXT(ssize_t, recvmsg, int, struct msghdr*, int);
  return strike(kRecvmsg) < 0 ? -1 : next(fd, message, flags);
}

int close(int fd) {
  NEXT(int, close, int);
  return strike(kClose) < 0 ? -1 : next(fd);
}

int setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  NEXT(int, setsockopt, int, int, int, const void*, socklen_t);
  return strike(kSetsockopt) < 0 ? -1 : next(fd, level, name, value, length);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  NEXT(int, clock_gettime, clockid_t, struct timespec*);
  const int result = next(clock, time);
  if (result == 0 && control != NULL && clock == CLOCK_REALTIME) {
    const int64_t offset = atomic_load_explicit(&control->clock_offset_ns, memory_order_relaxed);
    const int64_t moved = time->tv_sec * 1000000000 + time->tv_nsec + offset;
    time->tv_sec = moved / 1000000000;
    time->tv_nsec = moved % 1000000000;
  }
  return result;
}
