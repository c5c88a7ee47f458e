// One relay loop: a thread, its uv loop, its policy and its sessions. Others reach it through its mailbox only.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "relay/keeper_channel.h"
#include "relay/policy.h"
#include "relay/session_table.h"
#include "relay/sessions.h"
#include "relay/settings.h"
#include "sys/mailbox.h"

namespace ravelin::relay {

class RelayLoop {
 public:
  // `on_ended` is called on this loop's thread after each session's end. `keeper`: the loop's line to the keeper,
  // closed if there is none.
  RelayLoop(const SessionTable& table, std::uint32_t index, const EngineSettings& settings,
            std::unique_ptr<SessionPolicy> policy, const Limiters& limiters, std::function<void()> on_ended,
            KeeperChannel keeper);
  RelayLoop(const RelayLoop&) = delete;
  RelayLoop& operator=(const RelayLoop&) = delete;
  ~RelayLoop();

  // Counts the sessions that stand in the table and tells the policy of them; start() goes on with them.
  void adopt();
  void start();
  // Ends the sessions that are left, then the thread. Nothing else of the loop may be used after that.
  void stop();
  // The thread's uv loop, for what else is to happen there: handles are made before start() and go after stop().
  [[nodiscard]] sys::Loop& uv() { return loop_; }
  // Any thread. The loop touches nothing from some moment on, `frozen` is called on its thread then; only the end of
  // the process may follow.
  void freeze(std::function<void()> frozen);

  // Any thread. Accepted clients count from the moment they are handed over.
  void hand_over(std::vector<Accepted> clients);
  void post(std::function<void(Sessions&, SessionPolicy&)> task);
  [[nodiscard]] SessionPolicy& policy() { return *policy_; }  // before start()
  [[nodiscard]] std::uint32_t load() const { return load_.load(); }

 private:
  std::atomic<std::uint32_t> load_{0};  // sessions, on the way included
  std::function<void()> on_ended_;
  std::unique_ptr<SessionPolicy> policy_;
  sys::Loop loop_;
  std::unique_ptr<Sessions> sessions_;
  std::unique_ptr<sys::Mailbox> mail_;
  std::thread thread_;
  bool adopted_ = false;
  bool over_ = false;  // of the thread
  KeeperChannel keeper_;
  std::unique_ptr<sys::Timer> beat_;  // with a keeper
};

}  // namespace ravelin::relay
