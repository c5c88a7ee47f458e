#include "relay/keeper_state.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

struct Frame {
  std::uint32_t bytes = 0;
  std::uint32_t fds = 0;
};

void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

}  // namespace

void StateWriter::add(const KeeperMessage& message, std::span<const int> fds) {
  encode(message, frame_);
  const Frame frame{.bytes = static_cast<std::uint32_t>(frame_.size()), .fds = static_cast<std::uint32_t>(fds.size())};
  append(bytes_, &frame, sizeof frame);
  append(bytes_, frame_.data(), frame_.size());
  append(bytes_, fds.data(), fds.size_bytes());
  for (const int fd : fds) {
    ::fcntl(fd, F_SETFD, 0);
    kept_.push_back(fd);
  }
}

sys::Result<sys::UniqueFd> StateWriter::write() const {
  sys::UniqueFd file(::memfd_create("ravelin-keeper", 0));
  if (!file) return sys::fail(errno, "memfd_create for the keeper's state");
  std::size_t done = 0;
  while (done < bytes_.size()) {
    const ssize_t count = ::write(file.get(), bytes_.data() + done, bytes_.size() - done);
    if (count <= 0) return sys::fail(count < 0 ? errno : EIO, "cannot write the keeper's state");
    done += static_cast<std::size_t>(count);
  }
  return file;
}

void StateWriter::keep_nothing_open() {
  for (const int fd : std::exchange(kept_, {})) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

sys::Result<void> read_state(const sys::UniqueFd& file, const std::function<sys::Result<void>(Received)>& visit) {
  const auto bytes = sys::read_file(file.get());
  if (!bytes) return sys::fail(bytes.error().code, "cannot read the keeper's state");
  std::span<const std::byte> left = std::as_bytes(std::span(*bytes));
  while (!left.empty()) {
    Frame frame;
    if (left.size() < sizeof frame) return sys::fail(0, "the keeper's state ends in the middle");
    std::memcpy(&frame, left.data(), sizeof frame);
    left = left.subspan(sizeof frame);
    if (frame.fds > kMostDescriptors || left.size() < frame.bytes + frame.fds * sizeof(int)) {
      return sys::fail(0, "the keeper's state ends in the middle");
    }
    auto message = decode(left.first(frame.bytes));
    if (!message) return sys::fail(0, "the keeper's state holds something that is no message");
    Received received{.state = Received::State::message, .message = std::move(*message)};
    for (std::uint32_t i = 0; i < frame.fds; ++i) {
      int fd = -1;
      std::memcpy(&fd, left.data() + frame.bytes + i * sizeof fd, sizeof fd);
      if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return sys::fail(errno, "a descriptor of the keeper's state");
      received.fds.emplace_back(fd);
    }
    left = left.subspan(frame.bytes + frame.fds * sizeof(int));
    if (!is_known(received.message.kind)) continue;  // a later version's
    if (received.message.kind != KeeperKind::worker && received.fds.size() != descriptors_of(received.message)) {
      return sys::fail(0, "the keeper's state lacks descriptors");
    }
    if (auto visited = visit(std::move(received)); !visited) return visited;
  }
  return {};
}

}  // namespace ravelin::relay
