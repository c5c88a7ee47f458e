// The keeper: the process that an operator or a service manager starts and whose pid never changes. It starts a worker;
// when that one has ended, by a crash, a kill or an upgrade, it takes from its heir everything that the sessions
// consist of, and gives all of it to the next worker.
//
//   TERM, INT, HUP   the worker does it           USR2   a new worker from the path takes over, or nothing changes
//
// For new settings that a worker cannot apply to itself it asks for the same, of the very program that it is.
//
// It reads nothing from the network and nothing from the session table, and does nothing while sessions move. One
// thread; the log has its own.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relay/crash_breaker.h"
#include "relay/inheritance.h"
#include "relay/keeper_store.h"
#include "relay/worker_process.h"
#include "sys/log.h"

namespace ravelin::relay {

struct KeeperOptions {
  WorkerProgram program;
  std::string name;  // of the program, as logged
  sys::LogFormat log_format = sys::LogFormat::json;
  sys::LogLevel log_level = sys::LogLevel::info;
  std::function<void(std::string_view)> notify;  // the service manager
};

class Keeper {
 public:
  explicit Keeper(KeeperOptions options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Goes on where this process stood before it replaced itself, or where the worker stood that this process was.
  // `state` is what a StateWriter wrote there. Before run().
  [[nodiscard]] sys::Result<void> restore(sys::UniqueFd state);

  // Listeners for the first worker that somebody has opened for it. Before run().
  void hold(std::vector<Inheritance::Listener> passed);

  // Until the worker has ended as it was asked to, or cannot be started at all. The exit code.
  [[nodiscard]] int run();

 private:
  static constexpr std::int64_t kGreetingPatienceMs = 10'000;  // for a worker to read its settings

  void turn();
  [[nodiscard]] int patience() const;
  void hear_signals();
  void forward(int number);
  void reap();
  // Workers.
  [[nodiscard]] bool start();
  void hear(WorkerProcess& worker);
  void hear_control(WorkerProcess& worker);
  void hear_loop(WorkerProcess& worker, WorkerProcess::Loop& loop);
  void obey(WorkerProcess& worker, Received received);
  void distrust(WorkerProcess& worker, const std::string& why);
  void greeted(WorkerProcess& worker);
  void hand_over();
  void hand_over_next_batch();
  void running(const KeeperItem& counts);
  void await_last_words(int status);
  void worker_ended(int status);
  void choose_next(bool ran, bool settings_refused);
  void replace(int status);
  // Upgrades.
  void want(HandOverCause cause);
  [[nodiscard]] bool is_serving() const;
  void begin_upgrade();
  void refuse(std::uint32_t wishes, const std::string& why);
  void freeze_worker();
  void candidate_ended(int status);
  void upgrade_failed(const std::string& why);
  void end_candidate();
  void finish_upgrade();
  void replace_self();
  // Patience.
  void check_deadlines();
  void check_beats(std::int64_t now);
  void watchdog(std::int64_t now);
  [[nodiscard]] std::int64_t watchdog_due() const;  // 0: no watchdog

  KeeperOptions options_;
  std::unique_ptr<sys::Log> log_;
  sys::UniqueFd signals_;
  KeeperStore store_;
  WorkerProcess worker_;
  WorkerProcess candidate_;  // of an upgrade
  KeeperStore::Cursor cursor_;
  HandOverCause cause_ = HandOverCause::fresh;
  std::uint32_t cause_number_ = 0;  // the signal, or the exit code
  sys::UniqueFd last_good_;         // the executable of the last worker that ran
  sys::UniqueFd settings_;          // those in force, as the last worker that ran said
  CrashBreaker breaker_;
  std::int64_t retry_ms_ = 0;       // when the next worker is started; 0: there is one
  bool use_last_good_ = false;      // by the next start: what lies at the path has failed
  bool use_kept_settings_ = false;  // the same of the settings
  std::int64_t stopped_ms_ = 0;     // since when nothing moves; 0: it does
  std::int64_t turned_ms_ = 0;
  std::vector<int> unsent_;  // signals for the worker that is to come
  bool draining_ = false;
  bool termed_ = false;  // TERM has come
  bool ending_now_ = false;
  std::uint32_t wanted_ = 0;            // wishes that wait until the candidate has come to its end
  std::uint32_t candidate_wishes_ = 0;  // that it would grant
  std::uint32_t ahead_ = 0;             // listeners that were opened for the candidate
  std::int64_t fed_ms_ = 0;             // when the service manager's watchdog was fed last
  std::optional<int> exit_;
};

}  // namespace ravelin::relay
