#include "victim.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

namespace ravelin::takeover {

Victim::Victim(const std::string& program, const sys::SocketAddress& origin) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  log_ = sys::UniqueFd(ends[0]);
  const sys::UniqueFd in(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 2);
  std::vector<std::string> words{program, "--listen", "127.0.0.1:0", "--origin", origin.text(), "--loops", "2", "--keeper=false"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int spawned = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(spawned == 0);
  pidfd_ = sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  REQUIRE(pidfd_);
  FILE* lines = ::fdopen(::dup(log_.get()), "r");
  std::array<char, 4096> line;
  while (address_.family == AF_UNSPEC && std::fgets(line.data(), line.size(), lines) != nullptr) {
    const auto event = nlohmann::json::parse(line.data(), nullptr, false);
    if (event.is_object() && event.value("event", "") == "listening") {
      address_ = sys::SocketAddress::parse(event.value("address", "")).value_or(sys::SocketAddress{});
    }
  }
  std::fclose(lines);
  REQUIRE(address_.is_ip());
}

Victim::~Victim() {
  kill();
}

void Victim::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

sys::UniqueFd Victim::duplicate(int fd) const {
  return sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), fd, 0)));
}

relay::SessionTable Victim::find_table() const {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(entry.path(), error);
    if (!target.string().starts_with("/memfd:ravelin-sessions")) continue;
    auto table = relay::SessionTable::open(duplicate(std::stoi(entry.path().filename())));
    REQUIRE(table);
    return std::move(*table);
  }
  FAIL("no session table");
  return {};
}

relay::SessionTable Victim::kill_and_take() {
  // Stopped, it is between two of its instructions, anywhere; it never runs again.
  REQUIRE(::kill(pid_, SIGSTOP) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT) == 0);
  relay::SessionTable table = find_table();
  for (std::uint32_t i = 0; i < table.shape().pipes; ++i) {
    relay::PipeRecord& pipe = table.pipe(i);
    if (pipe.in < 0) continue;
    pipe = {.in = duplicate(pipe.in).release(), .out = duplicate(pipe.out).release()};
  }
  for (std::uint32_t slot = 0; slot < table.shape().sessions; ++slot) {
    relay::SessionRecord& record = table.record(slot);
    if (record.phase == relay::Phase::free) continue;
    if (record.client_fd >= 0) record.client_fd = duplicate(record.client_fd).release();
    if (record.origin_fd >= 0) record.origin_fd = duplicate(record.origin_fd).release();
  }
  kill();
  return table;
}

}  // namespace ravelin::takeover
