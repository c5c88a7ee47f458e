// The worker's side of the control channel: from the moment when it has read its settings to its end.
//
//   auto link = KeeperLink::from_environment(program);        // null: this process has no keeper
//   auto inheritance = link->greet(sizeof(MyExtension));      // waits until it is this process's turn
//   ... the engine starts over it ...
//   link->attach(control_loop, {...});
//   link->running(claim);
//
// Belongs to the control loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/inheritance.h"
#include "relay/keeper_channel.h"
#include "relay/keeper_state.h"
#include "relay/session_table.h"
#include "relay/worker_process.h"
#include "sys/log.h"
#include "sys/uv.h"

namespace ravelin::relay {

class KeeperLink {
 public:
  struct Callbacks {
    std::function<void(int number)> signal;  // what the operator sent to the keeper
    std::function<void()> freeze;            // another worker takes over
    // Nobody does, although it was asked for, by this process or by a signal to the keeper; see wish().
    std::function<void(std::uint32_t wishes, const std::string& why)> refused;
    std::function<void()> lost;  // the keeper is gone
  };

  // What $RAVELIN_KEEPER_CHANNEL names, if it names one, with what $RAVELIN_SETTINGS does; the variables are gone then.
  [[nodiscard]] static std::unique_ptr<KeeperLink> from_environment(WorkerProgram program);
  KeeperLink(KeeperChannel channel, WorkerProgram program);
  KeeperLink(const KeeperLink&) = delete;
  KeeperLink& operator=(const KeeperLink&) = delete;

  // What to start with in the place of the file that the command line names.
  [[nodiscard]] const std::optional<std::string>& kept_settings() const { return kept_settings_; }

  // Blocks until the keeper has handed over what there is.
  [[nodiscard]] sys::Result<Inheritance> greet(std::uint32_t extension_bytes);

  void attach(sys::Loop& loop, Callbacks callbacks);
  void detach();

  // What the keeper is to hold.
  [[nodiscard]] sys::Result<void> hold_table(const SessionTable& table);
  [[nodiscard]] sys::Result<void> hold_listener(ListenerNumber number, const std::string& key, int fd);
  [[nodiscard]] sys::Result<KeeperChannel> open_loop(std::uint32_t index);
  // From now on whatever happens to this process, what the table names lives on. Before there are sessions.
  [[nodiscard]] sys::Result<void> settle_inheritance(const SessionTable& table);
  // The settings in force: what a later worker starts with if those on disk are wrong by then. It stays with the link.
  void hold_settings(std::string_view text);
  void listeners_closed();
  void running(std::uint32_t sessions, std::uint32_t lost);
  void notify(std::string_view state);
  void draining();
  // Another worker is to take over; freeze() or refused() follows. `ahead`: of the listeners held last, how many were
  // opened for it alone.
  [[nodiscard]] sys::Result<void> ask_replacement(HandOverCause cause, std::uint32_t ahead);

  // A service manager that watches the keeper ends the unit with it: then there is nothing to go on for.
  [[nodiscard]] bool is_watched() const { return is_watched_; }

  // Replaces this process by a keeper that starts from `state`. Returns only if that fails.
  [[nodiscard]] sys::Error become_keeper(StateWriter& state);

 private:
  void hear();
  [[nodiscard]] sys::Result<void> start_heir();
  void watch_heir(sys::Loop& loop);

  KeeperChannel channel_;
  WorkerProgram program_;
  sys::UniqueFd executable_;  // what this process runs, whatever lies at the path
  sys::UniqueFd self_;        // a pidfd of this process
  sys::UniqueFd settings_;
  std::optional<std::string> kept_settings_;
  const SessionTable* table_ = nullptr;
  pid_t heir_ = -1;
  bool is_watched_ = false;
  Callbacks callbacks_;
  std::unique_ptr<sys::Poll> poll_;
  std::unique_ptr<sys::Timer> beat_;
  sys::UniqueFd heir_end_;  // a pidfd of the heir
  std::unique_ptr<sys::Poll> heir_poll_;
};

}  // namespace ravelin::relay
