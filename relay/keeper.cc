#include "relay/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "relay/clock.h"
#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

using Stage = WorkerProcess::Stage;

constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD};

constexpr std::int64_t kTakingPatienceMs = 30'000;       // for a worker to take a batch or start its loops
constexpr std::int64_t kInheritancePatienceMs = 10'000;  // for the heir to name thousands of sessions
constexpr int kBatchesAhead = 3;                         // of 252 descriptors at most
constexpr int kLongestSleepMs = 5'000;
constexpr std::uint32_t kMostLoops = 1024;
constexpr int kBadConfig = 78;

bool is_own_doing(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGILL || number == SIGFPE;
}

}  // namespace

Keeper::Keeper(KeeperOptions options) : options_(std::move(options)) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : kSignals) ::sigaddset(&wanted, number);
  // Blocked signals wait for signalfd(2), also in pid 1, where unhandled ones would be dropped.
  // For good: one that comes when all is over must not decide about the exit code.
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  for (const int number : kSignals) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  // Only now: a thread has the mask of the one that made it, and a signal goes to any thread that lets it through.
  log_ = std::make_unique<sys::Log>(options_.log_format, options_.log_level);
  signals_ = sys::UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  (void)sys::raise_descriptor_limit();
}

void Keeper::hold(std::vector<Inheritance::Listener> passed) {
  for (Inheritance::Listener& listener : passed) {
    Received received{.message = {.kind = KeeperKind::listener, .items = {{}}, .text = std::move(listener.key)}};
    received.fds.push_back(std::move(listener.fd));
    (void)store_.take(std::move(received));
  }
}

int Keeper::run() {
  if (!worker_) {
    if (!store_.has_table()) cause_ = HandOverCause::fresh;
    if (!start()) return EXIT_FAILURE;
  }
  // Setting SIGCHLD to its default action has dropped one that was pending (signal(7)): of a worker that died while
  // this process replaced itself.
  reap();
  turned_ms_ = monotonic_ms();
  while (!exit_) turn();
  return *exit_;
}

void Keeper::turn() {
  std::vector<pollfd> watched{{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  const auto watch = [&](const WorkerProcess& worker) {
    if (worker.control) watched.push_back({.fd = worker.control.fd(), .events = POLLIN, .revents = 0});
    for (const auto& loop : worker.loops) {
      if (loop.open) watched.push_back({.fd = loop.channel.fd(), .events = POLLIN, .revents = 0});
    }
  };
  watch(worker_);
  watch(candidate_);
  (void)::poll(watched.data(), watched.size(), patience());
  const std::int64_t now = monotonic_ms();
  // A keeper that stood still itself, with the whole machine for one, has no right to find others slow.
  if (now - turned_ms_ > kLongestSleepMs + 1'000) {
    worker_.heard_ms = now;
    for (auto& loop : worker_.loops) loop.heard_ms = now;
  }
  turned_ms_ = now;
  hear(worker_);
  hear(candidate_);
  hear_signals();
  check_deadlines();
}

int Keeper::patience() const {
  const std::int64_t now = monotonic_ms();
  std::int64_t next = now + kLongestSleepMs;
  for (const std::int64_t due : {worker_.deadline_ms, candidate_.deadline_ms, retry_ms_, watchdog_due()}) {
    if (due != 0) next = std::min(next, due);
  }
  return static_cast<int>(std::max<std::int64_t>(0, next - now));
}

void Keeper::hear_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    switch (static_cast<int>(info.ssi_signo)) {
      case SIGCHLD:
        reap();
        break;
      case SIGUSR2:
        want(HandOverCause::upgrade);
        break;
      default:
        forward(static_cast<int>(info.ssi_signo));
    }
  }
}

void Keeper::forward(int number) {
  // The second word means now. A drain that the admin socket has asked for is none of them: a service manager's TERM
  // may follow it, and ends nothing early.
  if (number == SIGTERM && std::exchange(termed_, true)) number = SIGINT;
  if (number == SIGTERM || number == SIGINT) draining_ = true;
  if (number == SIGINT) ending_now_ = true;
  const KeeperMessage message{.kind = KeeperKind::signal, .items = {{.a = static_cast<std::uint32_t>(number)}}};
  if (worker_ && worker_.stage == Stage::running && worker_.control.send(message)) return;
  // Nothing is left to wait for if there are no sessions and there never was a worker that ran.
  if (ending_now_ && !store_.has_table()) {
    if (worker_) ::kill(worker_.pid, SIGKILL);
    exit_ = EXIT_SUCCESS;
    return;
  }
  unsent_.push_back(number);
}

// As pid 1 of a container the keeper is also the parent of everybody's orphans.
void Keeper::reap() {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    if (worker_ && pid == worker_.pid) await_last_words(status);
    if (candidate_ && pid == candidate_.pid) candidate_ended(status);
  }
}

bool Keeper::start() {
  retry_ms_ = 0;
  auto worker = start_worker(options_.program, {.executable = use_last_good_ ? &last_good_ : nullptr,
                                                .settings = use_kept_settings_ ? &settings_ : nullptr});
  if (!worker) {
    log_->line(sys::LogLevel::error, "worker_not_started").field("error", worker.error().text());
    return false;
  }
  worker_ = std::move(*worker);
  if (cause_ != HandOverCause::fresh) worker_.deadline_ms = worker_.started_ms + kGreetingPatienceMs;
  return true;
}

void Keeper::hear(WorkerProcess& worker) {
  if (!worker) return;
  for (auto& loop : worker.loops) {
    if (loop.open) hear_loop(worker, loop);
  }
  hear_control(worker);
}

void Keeper::hear_control(WorkerProcess& worker) {
  for (;;) {
    if (!worker.control) return;
    Received received = worker.control.receive();
    if (received.state == Received::State::empty) return;
    if (received.state == Received::State::closed) {
      worker.control = {};
      if (worker.status) worker_ended(*worker.status);
      return;
    }
    if (received.state == Received::State::broken) return distrust(worker, "a broken message");
    worker.heard_ms = monotonic_ms();
    obey(worker, std::move(received));
  }
}

void Keeper::hear_loop(WorkerProcess& worker, WorkerProcess::Loop& loop) {
  for (;;) {
    const Received received = loop.channel.receive();
    if (received.state == Received::State::empty) return;
    if (received.state == Received::State::message) {
      loop.heard_ms = monotonic_ms();
      continue;
    }
    loop.open = false;
    if (received.state == Received::State::broken) distrust(worker, "a broken message");
    return;
  }
}

void Keeper::obey(WorkerProcess& worker, Received received) {
  const KeeperItem head = received.message.head();
  switch (received.message.kind) {
    case KeeperKind::hello:
      worker.hello = head;
      return greeted(worker);
    case KeeperKind::taken:
      if (&worker == &worker_ && worker.stage == Stage::taking) hand_over_next_batch();
      return;
    case KeeperKind::loop:
      if (head.a != worker.loops.size() || head.a >= kMostLoops) return distrust(worker, "a loop out of order");
      worker.loops.push_back({.channel = KeeperChannel(std::move(received.fds.front())), .heard_ms = monotonic_ms()});
      return;
    case KeeperKind::table:
    case KeeperKind::listener:
    case KeeperKind::pipes:
    case KeeperKind::sessions:
    case KeeperKind::newcomers:
      if (auto taken = store_.take(std::move(received)); !taken) distrust(worker, taken.error().text());
      return;
    case KeeperKind::running:
      if (&worker == &worker_ && worker.stage == Stage::taking) running(head);
      return;
    case KeeperKind::closed:
      return store_.close_listeners();
    case KeeperKind::replace:
      if (&worker != &worker_ || worker.stage != Stage::running) return;
      ahead_ += head.b;
      return want(head.a == static_cast<std::uint32_t>(HandOverCause::reload) ? HandOverCause::reload
                                                                              : HandOverCause::upgrade);
    case KeeperKind::draining:
      draining_ = true;
      return;
    case KeeperKind::settings:
      if (&worker == &worker_) settings_ = std::move(received.fds.front());
      return;
    case KeeperKind::notify:
      if (options_.notify) options_.notify(received.message.text);
      return;
    default:
      return;  // a later version's
  }
}

void Keeper::distrust(WorkerProcess& worker, const std::string& why) {
  log_->line(sys::LogLevel::error, "worker_not_believed").field("pid", worker.pid).field("error", why);
  ::kill(worker.pid, SIGKILL);
}

void Keeper::greeted(WorkerProcess& worker) {
  worker.stage = Stage::greeted;
  worker.deadline_ms = 0;
  std::string why;
  if (worker.hello.a != kKeeperProtocol) {
    why = fmt::format("it speaks protocol {}, the keeper {}", worker.hello.a, kKeeperProtocol);
  } else if (store_.has_table() && worker.hello.b != store_.layout()) {
    why = fmt::format("it reads session tables of layout {}, this one has {}", worker.hello.b, store_.layout());
  } else if (store_.has_table() && worker.hello.c != store_.extension_bytes()) {
    why = "the session table belongs to another program";
  }
  if (&worker == &candidate_) return why.empty() ? freeze_worker() : upgrade_failed(why);
  if (why.empty()) return hand_over();
  log_->line(sys::LogLevel::error, "worker_refused").field("pid", worker.pid).field("error", why);
  ::kill(worker.pid, SIGKILL);
}

void Keeper::hand_over() {
  worker_.stage = Stage::taking;
  cursor_ = {};
  store_.expect_listeners();
  const KeeperMessage begin{.kind = KeeperKind::begin,
                            .items = {{.a = static_cast<std::uint32_t>(cause_),
                                       .b = cause_number_,
                                       .c = std::getenv("NOTIFY_SOCKET") != nullptr ? 1U : 0U},
                                      {.a = draining_ ? 1U : 0U}}};
  worker_.deadline_ms = monotonic_ms() + kTakingPatienceMs;
  if (!worker_.control.send(begin)) ::kill(worker_.pid, SIGKILL);
  for (int i = 0; i < kBatchesAhead; ++i) hand_over_next_batch();
}

// Descriptors that nobody has received yet count against the user's limit (unix(7), ETOOMANYREFS): so a batch goes for
// each that was taken, with a few ahead, so that neither side waits for the other.
void Keeper::hand_over_next_batch() {
  if (cursor_.part == KeeperStore::Cursor::Part::end) return;
  worker_.deadline_ms = monotonic_ms() + kTakingPatienceMs;
  const auto saying = store_.say(cursor_);
  const auto sent = saying ? worker_.control.send_waiting(saying->message, saying->fds, 5'000)
                           : worker_.control.send_waiting({.kind = KeeperKind::commit}, {}, 5'000);
  if (!sent) distrust(worker_, sent.error().text());
}

void Keeper::running(const KeeperItem& counts) {
  const std::int64_t now = monotonic_ms();
  worker_.stage = Stage::running;
  worker_.running_ms = now;
  worker_.deadline_ms = 0;
  for (auto& loop : worker_.loops) loop.heard_ms = now;
  store_.forget_unnamed_listeners();
  store_.forget_sessions();
  last_good_ = sys::UniqueFd(::fcntl(worker_.executable.get(), F_DUPFD_CLOEXEC, 3));
  use_last_good_ = false;
  if (std::exchange(use_kept_settings_, false)) {
    log_->line(sys::LogLevel::error, "settings_kept")
        .field("worker", worker_.pid)
        .field("hint", "the settings on disk are wrong, it runs with the last ones in force; mend the file and reload");
  }
  if (cause_ != HandOverCause::fresh) {
    log_->line(sys::LogLevel::info, "taken_over")
        .field("worker", worker_.pid)
        .field("sessions", counts.a)
        .field("lost", counts.b)
        .field("pause_ms", stopped_ms_ == 0 ? 0 : now - stopped_ms_);
  }
  stopped_ms_ = 0;
  // A drain that was going on goes on, whoever has died over it.
  const bool told = std::ranges::any_of(unsent_, [](int number) { return number == SIGTERM || number == SIGINT; });
  if (draining_ && !told) unsent_.push_back(SIGTERM);
  for (const int number : std::exchange(unsent_, {})) {
    (void)worker_.control.send({.kind = KeeperKind::signal, .items = {{.a = static_cast<std::uint32_t>(number)}}});
  }
  ahead_ = 0;
  if (cause_ == HandOverCause::upgrade || cause_ == HandOverCause::reload) finish_upgrade();
  cause_ = HandOverCause::killed;
  if (wanted_ != 0) begin_upgrade();
}

// The worker is dead; its heir tells what it had, and closes the channel when it has told all.
void Keeper::await_last_words(int status) {
  worker_.status = status;
  worker_.deadline_ms = monotonic_ms() + kInheritancePatienceMs;
  if (stopped_ms_ == 0) stopped_ms_ = monotonic_ms();
  if (!worker_.control) return worker_ended(status);
  hear_control(worker_);
}

void Keeper::worker_ended(int status) {
  const bool ran = worker_.stage == Stage::running || worker_.stage == Stage::freezing;
  if (worker_.stage == Stage::freezing && candidate_) {
    cause_ = (candidate_wishes_ & wish(HandOverCause::upgrade)) != 0 ? HandOverCause::upgrade : HandOverCause::reload;
    cause_number_ = 0;
    worker_ = std::move(candidate_);
    candidate_ = {};
    return hand_over();
  }
  // One that froze for a candidate that is gone by now has ended without having been asked to end for good.
  const bool asked =
      worker_.stage != Stage::freezing && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || (draining_ && ran));
  // The first worker that cannot even start says itself why.
  const bool hopeless = !ran && cause_ == HandOverCause::fresh;
  if (asked || hopeless || ending_now_) {
    exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : ending_now_ ? EXIT_SUCCESS : EXIT_FAILURE;
    end_candidate();
    return;
  }
  replace(status);
}

// Program and settings at their paths first; where those cannot take over, what was good before, until somebody puts
// better ones there.
void Keeper::choose_next(bool ran, bool settings_refused) {
  if (ran) {
    use_last_good_ = use_kept_settings_ = false;
  } else if (settings_refused && settings_ && !use_kept_settings_) {
    use_kept_settings_ = true;
  } else {
    use_last_good_ = last_good_ && !use_last_good_;
    use_kept_settings_ = use_kept_settings_ && use_last_good_;
  }
}

void Keeper::replace(int status) {
  const std::int64_t now = monotonic_ms();
  const std::int64_t ran_ms = worker_.running_ms == 0 ? 0 : std::max<std::int64_t>(1, now - worker_.running_ms);
  const bool signaled = WIFSIGNALED(status);
  cause_number_ = static_cast<std::uint32_t>(signaled ? WTERMSIG(status) : WEXITSTATUS(status));
  cause_ = !signaled                                        ? HandOverCause::exited
           : worker_.hung || is_own_doing(WTERMSIG(status)) ? HandOverCause::crashed
                                                            : HandOverCause::killed;
  const bool refused = !signaled && WEXITSTATUS(status) == kBadConfig;
  const auto verdict = breaker_.died(cause_, ran_ms, refused);
  log_->line(sys::LogLevel::error, "worker_died")
      .field("worker", worker_.pid)
      .field("what", describe_end(status))
      .field("sessions", store_.sessions())
      .field("next_in_ms", verdict.wait_ms);
  if (candidate_) upgrade_failed("the worker has died meanwhile");
  choose_next(ran_ms != 0, refused);
  if (verdict.new_sessions_only) {
    log_->line(sys::LogLevel::error, "sessions_given_up")
        .field("sessions", store_.sessions())
        .field("deaths", breaker_.failures())
        .field("hint", "workers died one after the other; the next one starts without their sessions");
    store_.drop_sessions();
  }
  worker_ = {};
  if (verdict.wait_ms == 0 && start()) return;
  retry_ms_ = now + std::max<std::int64_t>(verdict.wait_ms, 100);
}

}  // namespace ravelin::relay
