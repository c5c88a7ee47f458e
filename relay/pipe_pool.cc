#include "relay/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

constexpr std::size_t kLeastCapacity = 64 << 10;  // below this a pipe is slower than a copy

// pipe(7): once a user without CAP_SYS_RESOURCE owns more than fs.pipe-user-pages-soft pages (64 pipes of 1 MiB by
// default), F_SETPIPE_SZ fails with EPERM and *new* pipes silently get two pages instead of sixteen. So the size is
// never assumed: ask for less and less, then believe only what F_GETPIPE_SZ says.
std::size_t grant_capacity(int fd, std::size_t wanted) {
  for (std::size_t size = wanted; size >= kLeastCapacity; size /= 2) {
    if (::fcntl(fd, F_SETPIPE_SZ, static_cast<int>(size)) >= 0) break;
  }
  const int granted = ::fcntl(fd, F_GETPIPE_SZ);
  return granted < 0 ? 0 : static_cast<std::size_t>(granted);
}

bool is_empty(const PipeRecord& pipe) {
  const auto pending = sys::readable_bytes(pipe.out);
  return pending && *pending == 0;
}

}  // namespace

PipePool::PipePool(const SessionTable& table, std::uint32_t first, std::uint32_t step, std::size_t wanted_capacity)
    : table_(table), wanted_capacity_(wanted_capacity) {
  for (std::uint32_t index = first; index < table.shape().pipes; index += step) unmade_.push_back(index);
}

PipePool::~PipePool() {
  for (const auto index : idle_) close(index);
}

void PipePool::adopt(const std::vector<bool>& owned) {
  for (const auto index : std::exchange(unmade_, {})) {
    const PipeRecord& pipe = table_.pipe(index);
    if (pipe.in < 0) {
      unmade_.push_back(index);
    } else if (!owned[index]) {
      give_back(static_cast<std::int32_t>(index));
    }
  }
}

sys::Result<std::int32_t> PipePool::take() {
  if (idle_.empty()) {
    if (auto added = add_idle(); !added) return tl::unexpected(added.error());
  }
  const auto index = static_cast<std::int32_t>(idle_.back());
  idle_.pop_back();
  return index;
}

bool PipePool::reserve() {
  return !idle_.empty() || add_idle();
}

sys::Result<void> PipePool::add_idle() {
  if (unmade_.empty()) return sys::fail(EDQUOT, "every pipe of the pool is in use");
  auto pipe = make();
  if (!pipe) return tl::unexpected(pipe.error());
  const auto index = unmade_.back();
  unmade_.pop_back();
  table_.pipe(index) = *pipe;
  idle_.push_back(index);
  return {};
}

void PipePool::give_back(std::int32_t index) {
  const auto place = static_cast<std::uint32_t>(index);
  if (is_empty(table_.pipe(place))) {
    idle_.push_back(place);
  } else {
    close(place);
    unmade_.push_back(place);
  }
}

sys::Result<PipeRecord> PipePool::make() const {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return sys::fail(errno, "pipe2");
  sys::UniqueFd out(ends[0]);
  sys::UniqueFd in(ends[1]);
  if (grant_capacity(in.get(), wanted_capacity_) < kLeastCapacity) {
    return sys::fail(EDQUOT, "the kernel grants this user no pipe of a useful size");
  }
  return PipeRecord{.in = in.release(), .out = out.release()};
}

void PipePool::close(std::uint32_t index) {
  const PipeRecord pipe = std::exchange(table_.pipe(index), PipeRecord{});
  ::close(pipe.in);
  ::close(pipe.out);
}

}  // namespace ravelin::relay
