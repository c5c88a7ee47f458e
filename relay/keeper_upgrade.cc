// The keeper's upgrade: a new worker reads its settings beside the old one; only when it could serve does the old one
// freeze and go, and the keeper replaces itself by the same file. Whatever fails before that has changed nothing.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "relay/clock.h"
#include "relay/keeper.h"
#include "relay/keeper_state.h"

namespace ravelin::relay {
namespace {

using Stage = WorkerProcess::Stage;

constexpr std::int64_t kFreezePatienceMs = 5'000;

}  // namespace

// One after the other: a wish is granted when what is going on has come to its end. An upgrade reads the settings too.
void Keeper::want(HandOverCause cause) {
  if (draining_) return refuse(wish(cause), "the program is draining");
  wanted_ |= wish(cause);
  if (!candidate_ && is_serving()) begin_upgrade();
}

bool Keeper::is_serving() const {
  return worker_ && worker_.stage == Stage::running && !worker_.status;
}

void Keeper::begin_upgrade() {
  candidate_wishes_ = std::exchange(wanted_, 0);
  const bool same = candidate_wishes_ == wish(HandOverCause::reload);
  if (options_.notify) {
    // systemd.service(5), Type=notify-reload: since when.
    options_.notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(monotonic_ms() * 1000));
  }
  // A reload must not surprise anybody with what lies at the path by now.
  auto candidate = start_worker(options_.program, {.executable = same ? &worker_.executable : nullptr});
  if (!candidate) return upgrade_failed(candidate.error().text());
  candidate_ = std::move(*candidate);
  candidate_.deadline_ms = candidate_.started_ms + kGreetingPatienceMs;
  log_->line(sys::LogLevel::info, same ? "reload_started" : "upgrade_started")
      .field("worker", candidate_.pid)
      .field("path", options_.program.path);
}

void Keeper::freeze_worker() {
  stopped_ms_ = monotonic_ms();
  worker_.stage = Stage::freezing;
  worker_.deadline_ms = stopped_ms_ + kFreezePatienceMs;
  // One that cannot be told is killed: the hand-over is the same.
  if (!worker_.control.send({.kind = KeeperKind::freeze})) ::kill(worker_.pid, SIGKILL);
}

void Keeper::candidate_ended(int status) {
  hear(candidate_);
  candidate_.pid = -1;
  upgrade_failed("it " + describe_end(status) + " before it could serve");
}

void Keeper::upgrade_failed(const std::string& why) {
  end_candidate();
  refuse(candidate_wishes_, why);
  if (options_.notify) options_.notify("READY=1");
  if (wanted_ != 0 && is_serving()) begin_upgrade();
}

void Keeper::refuse(std::uint32_t wishes, const std::string& why) {
  const bool reload_alone = wishes == wish(HandOverCause::reload);
  log_->line(sys::LogLevel::error, reload_alone ? "reload_refused" : "upgrade_failed")
      .field("path", options_.program.path)
      .field("error", why)
      .field("hint", "nothing has changed");
  if ((wishes & wish(HandOverCause::reload)) != 0) store_.forget_last_listeners(std::exchange(ahead_, 0));
  if (!is_serving()) return;
  (void)worker_.control.send({.kind = KeeperKind::refused, .items = {{.a = wishes}}, .text = why.substr(0, kMostText)});
}

void Keeper::end_candidate() {
  if (candidate_) ::kill(candidate_.pid, SIGKILL);
  candidate_ = {};
}

void Keeper::finish_upgrade() {
  const bool reloaded = cause_ == HandOverCause::reload;
  log_->line(sys::LogLevel::info, reloaded ? "reload_done" : "upgraded")
      .field("worker", worker_.pid)
      .field("path", options_.program.path);
  if (options_.notify) options_.notify("READY=1");
  if (reloaded || wanted_ != 0) return;  // it is the same program, or the next one will do it
  replace_self();
}

// So that the keeper is never older than its worker. The file has just proved itself, and it is the very same one,
// whatever lies at the path by now.
void Keeper::replace_self() {
  StateWriter writer;
  std::vector<int> fds{worker_.control.fd(), worker_.executable.get()};
  writer.add({.kind = KeeperKind::worker,
              .items = {{.a = static_cast<std::uint32_t>(worker_.pid),
                         .b = static_cast<std::uint32_t>(options_.log_format),
                         .c = static_cast<std::uint32_t>(options_.log_level)},
                        worker_.hello}},
             fds);
  for (std::size_t i = 0; i < worker_.loops.size(); ++i) {
    if (!worker_.loops[i].open) continue;
    fds = {worker_.loops[i].channel.fd()};
    writer.add({.kind = KeeperKind::loop, .items = {{.a = static_cast<std::uint32_t>(i)}}}, fds);
  }
  if (draining_) writer.add({.kind = KeeperKind::draining, .items = {{.a = termed_ ? 1U : 0U}}}, {});
  KeeperStore::Cursor cursor;
  while (const auto saying = store_.say(cursor)) writer.add(saying->message, saying->fds);
  auto file = writer.write();
  sys::Error error;
  if (file) {
    log_.reset();  // writes what is waiting
    error = execute(options_.program, &worker_.executable, kStateVariable, file->get());
    log_ = std::make_unique<sys::Log>(options_.log_format, options_.log_level);
  } else {
    error = file.error();
  }
  writer.keep_nothing_open();
  log_->line(sys::LogLevel::warning, "keeper_not_replaced")
      .field("error", error.text())
      .field("hint", "the keeper that runs goes on");
}

sys::Result<void> Keeper::restore(sys::UniqueFd state) {
  cause_ = HandOverCause::keeper_lost;
  return read_state(state, [this](Received received) -> sys::Result<void> {
    const KeeperItem head = received.message.head();
    switch (received.message.kind) {
      case KeeperKind::worker: {
        options_.log_format = head.b == 0 ? sys::LogFormat::json : sys::LogFormat::text;
        options_.log_level = static_cast<sys::LogLevel>(std::min(head.c, 3U));
        log_ = std::make_unique<sys::Log>(options_.log_format, options_.log_level);
        if (head.a == 0) return {};
        if (received.fds.size() != 2 || received.message.items.size() < 2)
          return sys::fail(0, "a worker without a line");
        const std::int64_t now = monotonic_ms();
        worker_ = {.pid = static_cast<pid_t>(head.a),
                   .stage = Stage::running,
                   .hello = received.message.items[1],
                   .control = KeeperChannel(std::move(received.fds[0])),
                   .executable = std::move(received.fds[1]),
                   .started_ms = now,
                   .running_ms = now,
                   .heard_ms = now};
        last_good_ = sys::UniqueFd(::fcntl(worker_.executable.get(), F_DUPFD_CLOEXEC, 3));
        cause_ = HandOverCause::killed;
        return {};
      }
      case KeeperKind::loop:
        if (received.fds.size() != 1) return sys::fail(0, "a loop without a line");
        worker_.loops.push_back(
            {.channel = KeeperChannel(std::move(received.fds.front())), .heard_ms = monotonic_ms()});
        return {};
      case KeeperKind::settings:
        settings_ = std::move(received.fds.front());
        return {};
      case KeeperKind::draining:
        draining_ = true;
        termed_ = head.a != 0;
        return {};
      default:
        return store_.take(std::move(received));
    }
  });
}

}  // namespace ravelin::relay
