#include "relay/keeper_link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "relay/heir.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

constexpr int kPatienceMs = 5'000;

sys::UniqueFd pidfd_of(pid_t pid) {
  return sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// The number that a variable names; the variable is gone then.
std::optional<int> take_variable(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  int number = -1;
  const auto parsed = std::from_chars(text, end, number);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  ::unsetenv(variable);
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::unique_ptr<KeeperLink> KeeperLink::from_environment(WorkerProgram program) {
  const std::optional<int> channel = take_variable(kWorkerVariable);
  const std::optional<int> settings = take_variable(kSettingsVariable);
  // A variable that somebody inherited from a worker names nothing of the kind.
  if (!channel || sys::get_option<int>(*channel, SOL_SOCKET, SO_TYPE) != SOCK_SEQPACKET) return nullptr;
  ::fcntl(*channel, F_SETFD, FD_CLOEXEC);
  auto link = std::make_unique<KeeperLink>(KeeperChannel(sys::UniqueFd(*channel)), std::move(program));
  if (settings && ::fcntl(*settings, F_GET_SEALS) >= 0) {
    if (auto text = sys::read_file(sys::UniqueFd(*settings).get())) link->kept_settings_ = std::move(*text);
  }
  return link;
}

KeeperLink::KeeperLink(KeeperChannel channel, WorkerProgram program)
    : channel_(std::move(channel)),
      program_(std::move(program)),
      executable_(::open("/proc/self/exe", O_PATH | O_CLOEXEC)) {}

sys::Result<Inheritance> KeeperLink::greet(std::uint32_t extension_bytes) {
  const KeeperMessage hello{.kind = KeeperKind::hello,
                            .items = {{.a = kKeeperProtocol, .b = SessionTable::kLayoutVersion, .c = extension_bytes}}};
  if (auto sent = channel_.send(hello); !sent) return tl::unexpected(sent.error());
  Inheritance inheritance;
  for (;;) {
    (void)channel_.wait(-1);
    Received received = channel_.receive();
    if (received.state == Received::State::empty) continue;
    if (received.state == Received::State::closed) return sys::fail(0, "the keeper has ended");
    if (received.state == Received::State::broken) {
      return sys::fail(EMFILE, "descriptors got lost on the way from the keeper");
    }
    if (received.message.kind == KeeperKind::commit) return inheritance;
    if (received.message.kind == KeeperKind::begin) {
      const KeeperItem head = received.message.head();
      inheritance.cause = static_cast<HandOverCause>(head.a);
      is_watched_ = head.c != 0;
      inheritance.draining = received.message.items.size() > 1 && received.message.items[1].a != 0;
      continue;
    }
    if (auto taken = inheritance.take(std::move(received)); !taken) return tl::unexpected(taken.error());
    if (auto said = channel_.send({.kind = KeeperKind::taken}); !said) return tl::unexpected(said.error());
  }
}

void KeeperLink::attach(sys::Loop& loop, Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  poll_ = std::make_unique<sys::Poll>(loop, channel_.fd(), [this](int, int) { hear(); });
  poll_->start(UV_READABLE);
  beat_ = std::make_unique<sys::Timer>(loop, [this] { (void)channel_.send({.kind = KeeperKind::beat}); });
  beat_->start(kBeat, kBeat);
  watch_heir(loop);
}

void KeeperLink::detach() {
  poll_.reset();
  beat_.reset();
  heir_poll_.reset();
}

void KeeperLink::hear() {
  for (;;) {
    const Received received = channel_.receive();
    switch (received.state) {
      case Received::State::empty:
        return;
      case Received::State::closed:
      case Received::State::broken:
        detach();
        return callbacks_.lost();
      case Received::State::message:
        break;
    }
    if (received.message.kind == KeeperKind::signal) callbacks_.signal(static_cast<int>(received.message.head().a));
    if (received.message.kind == KeeperKind::refused)
      callbacks_.refused(received.message.head().a, received.message.text);
    if (received.message.kind == KeeperKind::freeze) return callbacks_.freeze();
  }
}

sys::Result<void> KeeperLink::hold_table(const SessionTable& table) {
  const std::array<int, 1> fd{table.fd()};
  return channel_.send_waiting(
      {.kind = KeeperKind::table,
       .items = {{.a = SessionTable::kLayoutVersion, .b = table.shape().extension_bytes, .c = table.shape().sessions},
                 {.a = table.shape().pipes}}},
      fd, kPatienceMs);
}

sys::Result<void> KeeperLink::hold_listener(ListenerNumber number, const std::string& key, int fd) {
  const std::array<int, 1> fds{fd};
  return channel_.send_waiting(
      {.kind = KeeperKind::listener, .items = {{.a = number.number, .b = number.numbering}}, .text = key}, fds,
      kPatienceMs);
}

sys::Result<KeeperChannel> KeeperLink::open_loop(std::uint32_t index) {
  auto ends = KeeperChannel::pair();
  if (!ends) return tl::unexpected(ends.error());
  const std::array<int, 1> fd{ends->second.fd()};
  if (auto sent = channel_.send_waiting({.kind = KeeperKind::loop, .items = {{.a = index}}}, fd, kPatienceMs); !sent) {
    return tl::unexpected(sent.error());
  }
  return std::move(ends->first);
}

sys::Result<void> KeeperLink::settle_inheritance(const SessionTable& table) {
  self_ = pidfd_of(::getpid());
  if (!self_) return sys::fail(errno, "cannot watch this process for its heir");
  table_ = &table;
  return start_heir();
}

sys::Result<void> KeeperLink::start_heir() {
  auto heir = relay::start_heir(*table_, channel_, self_);
  if (!heir) return tl::unexpected(heir.error());
  heir_ = *heir;
  heir_end_ = pidfd_of(heir_);
  return {};
}

// An heir that somebody has killed is replaced: there must be one at every moment.
void KeeperLink::watch_heir(sys::Loop& loop) {
  heir_poll_.reset();
  if (!heir_end_) return;
  heir_poll_ = std::make_unique<sys::Poll>(loop, heir_end_.get(), [this, &loop](int, int) {
    heir_poll_.reset();
    end_heir(std::exchange(heir_, -1));
    if (start_heir()) watch_heir(loop);
  });
  heir_poll_->start(UV_READABLE);
}

void KeeperLink::hold_settings(std::string_view text) {
  settings_ = sys::UniqueFd(::memfd_create("ravelin-settings", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto written = ::write(settings_.get(), text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size())) return settings_.reset();
  const std::array<int, 1> fd{settings_.get()};
  (void)channel_.send_waiting({.kind = KeeperKind::settings}, fd, kPatienceMs);
}

void KeeperLink::listeners_closed() {
  (void)channel_.send_waiting({.kind = KeeperKind::closed}, {}, kPatienceMs);
}

void KeeperLink::running(std::uint32_t sessions, std::uint32_t lost) {
  (void)channel_.send_waiting({.kind = KeeperKind::running, .items = {{.a = sessions, .b = lost}}}, {}, kPatienceMs);
}

void KeeperLink::notify(std::string_view state) {
  (void)channel_.send_waiting({.kind = KeeperKind::notify, .text = std::string(state)}, {}, kPatienceMs);
}

void KeeperLink::draining() {
  (void)channel_.send_waiting({.kind = KeeperKind::draining}, {}, kPatienceMs);
}

sys::Result<void> KeeperLink::ask_replacement(HandOverCause cause, std::uint32_t ahead) {
  return channel_.send_waiting(
      {.kind = KeeperKind::replace, .items = {{.a = static_cast<std::uint32_t>(cause), .b = ahead}}}, {}, kPatienceMs);
}

sys::Error KeeperLink::become_keeper(StateWriter& state) {
  // It waits for this pid to end, which now becomes the keeper's.
  end_heir(std::exchange(heir_, -1));
  const std::array<int, 1> settings{settings_.get()};
  if (settings_) state.add({.kind = KeeperKind::settings}, settings);
  auto file = state.write();
  if (!file) return file.error();
  return execute(program_, &executable_, kStateVariable, file->get());
}

}  // namespace ravelin::relay
