#include "relay/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "relay/clock.h"
#include "relay/oom_score.h"

namespace ravelin::relay {
namespace {

// Linux chooses by points of thousandths of memory; so many more make the worker the one to go.
constexpr int kMoreExpendable = 100;
constexpr int kMostExpendable = 1000;

// What is said in these is for one process alone, and not for those that it starts.
constexpr std::array<std::string_view, 3> kForOne{
    "RAVELIN_KEEPER_CHANNEL=", "RAVELIN_KEEPER_STATE=", "RAVELIN_SETTINGS="};
// Only the keeper speaks to the service manager.
constexpr std::array<std::string_view, 3> kForKeepers{"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID="};

// All that exec needs, made before fork: afterwards nothing may be allocated.
struct Call {
  std::vector<std::string> variables;
  std::vector<const char*> environment;
  std::vector<const char*> arguments;

  // A variable says the number of a descriptor; negative: it is not there.
  Call(const WorkerProgram& program, std::initializer_list<std::pair<const char*, int>> numbers, bool for_worker) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text = *entry;
      const auto starts = [&](std::string_view name) { return text.starts_with(name); };
      if (std::ranges::any_of(kForOne, starts) || (for_worker && std::ranges::any_of(kForKeepers, starts))) continue;
      variables.emplace_back(text);
    }
    for (const auto& [variable, number] : numbers) {
      if (number >= 0) variables.push_back(std::string(variable) + "=" + std::to_string(number));
    }
    for (const std::string& entry : variables) environment.push_back(entry.c_str());
    environment.push_back(nullptr);
    for (const std::string& word : program.arguments) arguments.push_back(word.c_str());
    arguments.push_back(nullptr);
  }

  void execute(const WorkerProgram& program, const sys::UniqueFd* executable) {
    auto* const* words = const_cast<char* const*>(arguments.data());
    auto* const* names = const_cast<char* const*>(environment.data());
    if (executable != nullptr) {
      ::syscall(SYS_execveat, executable->get(), "", words, names, AT_EMPTY_PATH);
    } else {
      ::execve(program.path.c_str(), words, names);
    }
  }
};

std::optional<int> more_expendable() {
  const auto score = oom_score_of(::getpid());
  return score ? std::optional(std::min(*score + kMoreExpendable, kMostExpendable)) : std::nullopt;
}

// In the child, between fork and exec.
[[noreturn]] void become_worker(Call& call, const WorkerProgram& program, InPlace in_place, int channel,
                                std::optional<int> score, int failure) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR2}) ::signal(number, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  set_oom_score(score);
  ::fcntl(channel, F_SETFD, 0);
  if (in_place.settings != nullptr) ::fcntl(in_place.settings->get(), F_SETFD, 0);
  call.execute(program, in_place.executable);
  const int error = errno;
  (void)!::write(failure, &error, sizeof error);
  ::_exit(127);
}

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!left.empty()) {
    const auto end = std::min(left.find(':'), left.size());
    const std::string candidate = std::string(left.substr(0, end)) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return name;
}

}  // namespace

WorkerProgram WorkerProgram::of(int argc, const char* const* argv) {
  WorkerProgram program{.arguments = {argv, argv + argc}};
  const std::string name = argc > 0 ? argv[0] : "";
  program.path = name.find('/') == std::string::npos ? in_path(name) : name;
  std::array<char, PATH_MAX> folder;
  if (!program.path.starts_with('/') && ::getcwd(folder.data(), folder.size()) != nullptr) {
    program.path = std::string(folder.data()) + "/" + program.path;
  }
  return program;
}

sys::Result<WorkerProcess> start_worker(const WorkerProgram& program, InPlace in_place) {
  const sys::UniqueFd* executable = in_place.executable;
  WorkerProcess worker{.started_ms = monotonic_ms(), .heard_ms = monotonic_ms()};
  worker.executable = sys::UniqueFd(executable != nullptr ? ::fcntl(executable->get(), F_DUPFD_CLOEXEC, 3)
                                                          : ::open(program.path.c_str(), O_PATH | O_CLOEXEC));
  if (!worker.executable) return sys::fail(errno, "cannot start {}", program.path);
  auto channel = KeeperChannel::pair();
  if (!channel) return tl::unexpected(channel.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys::fail(errno, "cannot start {}", program.path);
  const sys::UniqueFd failure(ends[0]);
  sys::UniqueFd failed(ends[1]);
  const int inherited = channel->second.fd();
  const int settings = in_place.settings != nullptr ? in_place.settings->get() : -1;
  Call call(program, {{kWorkerVariable, inherited}, {kSettingsVariable, settings}}, true);
  const std::optional<int> score = more_expendable();
  worker.pid = ::fork();
  if (worker.pid < 0) return sys::fail(errno, "cannot start {}", program.path);
  if (worker.pid == 0) become_worker(call, program, in_place, inherited, score, failed.get());
  failed.reset();
  worker.control = std::move(channel->first);
  int error = 0;
  if (::read(failure.get(), &error, sizeof error) == sizeof error) {
    return sys::fail(error, "cannot start {}", program.path);  // the child is reaped like any other
  }
  return worker;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

sys::Error execute(const WorkerProgram& program, const sys::UniqueFd* executable, const char* variable, int value) {
  Call call(program, {{variable, value}}, false);
  call.execute(program, executable);
  return {errno, "cannot replace the keeper by " + program.path};
}

}  // namespace ravelin::relay
