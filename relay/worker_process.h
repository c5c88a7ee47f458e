// One worker process as its keeper sees it: started, spoken to, waited for.
//
// Owned by the keeper. Does not end the process when it goes: a keeper that replaces itself leaves its worker running.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/keeper_channel.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

// In a worker's environment: the number of its end of the control channel.
inline constexpr const char* kWorkerVariable = "RAVELIN_KEEPER_CHANNEL";
// In a keeper's environment that has replaced itself: the number of the file with what it knew.
inline constexpr const char* kStateVariable = "RAVELIN_KEEPER_STATE";

// In the environment of a worker whose settings' file is broken: the number of a file with the last ones that were
// good.
inline constexpr const char* kSettingsVariable = "RAVELIN_SETTINGS";

// What workers are started from. Settled once: an upgrade is another file at the same place.
struct WorkerProgram {
  std::string path;
  std::vector<std::string> arguments;  // the program's name included

  // From main()'s arguments: a name without a slash is looked for in $PATH, a relative one is made absolute. Symbolic
  // links stay, because to point one elsewhere is a way to upgrade.
  [[nodiscard]] static WorkerProgram of(int argc, const char* const* argv);
};

struct WorkerProcess {
  enum class Stage : std::uint8_t {
    starting,  // reads its settings
    greeted,   // could take over
    taking,    // takes over
    running,   // serves
    freezing,  // ends, so that another one can take over
  };
  struct Loop {
    KeeperChannel channel;
    std::int64_t heard_ms = 0;
    bool open = true;
  };

  pid_t pid = -1;
  Stage stage = Stage::starting;
  KeeperItem hello;
  KeeperChannel control;
  std::vector<Loop> loops;
  sys::UniqueFd executable;  // what it runs, whatever lies at the path by now
  std::int64_t started_ms = 0;
  std::int64_t running_ms = 0;
  std::int64_t heard_ms = 0;     // its last word on the control channel
  std::int64_t deadline_ms = 0;  // for what the stage waits for; 0: none
  std::optional<int> status;     // how it ended, as wait(2) says; nothing while it lives
  bool hung = false;             // it is being ended because a loop has stopped turning

  explicit operator bool() const { return pid > 0; }
};

// What is to be used in the place of what lies at the paths; null: that.
struct InPlace {
  const sys::UniqueFd* executable = nullptr;
  const sys::UniqueFd* settings = nullptr;
};

// The worker ignores what service managers and terminals send to whole groups of processes: its keeper tells it what to
// do.
[[nodiscard]] sys::Result<WorkerProcess> start_worker(const WorkerProgram& program, InPlace in_place = {});

// "was ended by signal 9", "ended with exit code 1", from what wait(2) says.
[[nodiscard]] std::string describe_end(int status);

// Replaces this process by the program, with `variable` in its environment. Returns only if that fails.
[[nodiscard]] sys::Error execute(const WorkerProgram& program, const sys::UniqueFd* executable, const char* variable,
                                 int value);

}  // namespace ravelin::relay
