// The life of a daemon around its engine, from the signals to the exit code: what would otherwise stand in both
// programs.
//
//   daemon::Daemon daemon(kProgram, settings);
//   Edge edge(daemon, settings);                     // what is the program's own
//   return static_cast<int>(daemon.run(edge.plan()));
//
// Owns the control loop, the log, the admin server and, while it runs, the engine. All of it belongs to the thread that
// made it. Signals: TERM drains, a second TERM or INT ends all sessions at once, HUP reads the settings again; however
// many come and whenever, the exit code is 0 if it had started. run_program() sees to it that none comes through while
// run() has no handlers. With a keeper they come from there, and it may also have this process leave its sessions to
// another one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/metrics.h"
#include "admin/readiness.h"
#include "admin/server.h"
#include "config/command_line.h"
#include "daemon/control.h"
#include "daemon/reload.h"
#include "daemon/session_page.h"
#include "daemon/settings.h"
#include "relay/engine.h"
#include "relay/keeper_link.h"
#include "sys/log.h"
#include "sys/uv.h"

namespace ravelin::daemon {

// What a program brings. All functions are called on the control loop's thread, by run().
struct Plan {
  using MakePolicy = std::function<std::unique_ptr<relay::SessionPolicy>(relay::Engine&, unsigned loop)>;

  relay::EngineSettings engine;
  MakePolicy make_policy;  // the engine's table is there, its loops are not
  // Before sessions of another process are taken over: what is needed to go on with them. Not waited for long; may be
  // empty.
  std::function<void(std::function<void()> done)> prepare;
  std::function<void(relay::Engine&)> started;  // the engine runs, until run() returns; may be empty
  std::function<std::string()> config_text;     // the settings in force, for /config
  std::function<Revision()> revise;             // the settings read again, nothing applied
  DescribeSession describe_session;             // for /sessions; may be empty
};

class Daemon {
 public:
  // `keeper`: this process's line to its keeper, if it has one. `passed`: listeners that were opened for it; a worker
  // gets them from its keeper.
  Daemon(const config::Program& program, const DaemonSettings& settings,
         std::unique_ptr<relay::KeeperLink> keeper = nullptr, std::vector<relay::Inheritance::Listener> passed = {});
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  [[nodiscard]] sys::Loop& loop() { return loop_; }
  [[nodiscard]] sys::Log& log() { return log_; }
  // To be filled before run().
  [[nodiscard]] admin::AdminServer& admin() { return admin_; }
  [[nodiscard]] admin::Metrics& metrics() { return metrics_; }
  [[nodiscard]] admin::Readiness& readiness() { return readiness_; }

  // Until the last session has ended after a signal. When it returns no loop and no policy is left.
  [[nodiscard]] sys::Exit run(const Plan& plan);

 private:
  enum class Stage : std::uint8_t { starting, serving, draining };

  enum class Leave : std::uint8_t { no, to_next_worker, to_become_keeper };

  [[nodiscard]] sys::Result<void> start(const Plan& plan);
  [[nodiscard]] sys::Result<void> open_admin();
  void prepare(const Plan& plan);
  void keep_settings(const Plan& plan);
  void obey_keeper(std::function<void(int number)> signal);
  void leave(Leave how);
  void tell_manager(std::string_view state);
  void add_pages(const Plan& plan);
  void drain(const Control::Drain& wish);
  void go_on_draining();
  void say_draining();
  void end_now(relay::Reason reason);
  [[nodiscard]] sys::Exit refuse(const sys::Error& error);

  config::Program program_;
  DaemonSettings settings_;
  Stage stage_ = Stage::starting;
  sys::Log log_;
  sys::Loop loop_;
  admin::Metrics metrics_;
  admin::Readiness readiness_;
  admin::AdminServer admin_;
  sys::Timer lead_;      // of a drain, until the listeners close
  sys::Timer patience_;  // until the first session is closed
  sys::Timer say_who_;   // is left
  std::unique_ptr<relay::KeeperLink> keeper_;
  std::vector<relay::Inheritance::Listener> passed_;  // until they are listened on
  bool resumed_ = false;
  Leave leave_ = Leave::no;
  sys::Exit exit_ = sys::Exit::ok;
  std::optional<relay::Engine> engine_;
  std::optional<Control> control_;
};

}  // namespace ravelin::daemon
