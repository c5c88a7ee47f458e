// The engine that both daemons share: relay loops with a thread each, the first of which accepts for all of them. It
// owns the session table, the listening sockets and the loops.
//
//   Engine engine(control_loop, log, settings, [&](unsigned loop) { return std::make_unique<MyPolicy>(...); });
//   if (auto started = engine.start(); !started) return exit_for(started.error());
//   control_loop.run();
//
// All methods belong to the control loop's thread unless they say otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "relay/control_record.h"
#include "relay/counters.h"
#include "relay/inheritance.h"
#include "relay/limiter.h"
#include "relay/listeners.h"
#include "relay/policy.h"
#include "relay/session_table.h"
#include "relay/settings.h"
#include "sys/log.h"
#include "sys/mailbox.h"
#include "sys/uv.h"

namespace ravelin::relay {

class Acceptor;
class KeeperLink;
class RelayLoop;
class StateWriter;

class Engine {
 public:
  using PolicyFactory = std::function<std::unique_ptr<SessionPolicy>(unsigned loop)>;

  // `keeper`: the process's line to its keeper, if it has one; borrowed.
  Engine(sys::Loop& control, sys::Log& log, EngineSettings settings, PolicyFactory make_policy,
         KeeperLink* keeper = nullptr);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Opens the listeners and starts the loops. Fails with the errno of what could not be had; nothing is left behind
  // then. `passed`: listeners that somebody has opened for it.
  [[nodiscard]] sys::Result<void> start(std::vector<Inheritance::Listener> passed = {});

  // Starts the loops over a table that another process left, with descriptors that are valid here, and goes on with
  // every session in it. Sessions that had not reached `relaying` start again from their client; listeners are opened
  // if settings name any.
  [[nodiscard]] sys::Result<void> resume(SessionTable table);

  // Goes on with what the keeper has handed over, or starts anew if that was nothing.
  [[nodiscard]] sys::Result<void> take_over(Inheritance inheritance);

  // All loops and the acceptor touch nothing any more; `frozen` follows on the control loop when that is so. After that
  // only the end of the process may come: the sessions are another one's.
  void freeze(std::function<void()> frozen);
  // What a keeper has to know to go on from here. Frozen engines only.
  void describe(StateWriter& state) const;

  // Opens those of the listeners that this engine lacks, for the process that takes over, and has the keeper hold them.
  // All or none; their number.
  [[nodiscard]] sys::Result<std::uint32_t> open_ahead(const std::vector<ListenerOptions>& next);
  void close_ahead();  // nobody takes over
  // The indexes of the open listeners that these settings do not name.
  [[nodiscard]] std::vector<std::uint16_t> listeners_missing(const std::vector<ListenerOptions>& next) const;
  // Settings that the session table has overruled: its shape was settled by the process that made it.
  struct Overruled {
    std::string_view setting;
    std::uint32_t in_force;
    std::uint32_t wanted;
  };
  [[nodiscard]] const std::vector<Overruled>& overruled() const { return overruled_; }
  [[nodiscard]] HandOverCause cause() const { return cause_; }  // why this process serves

  // Stops accepting and calls `done` once no session is left.
  void drain(std::function<void()> done);
  // Ends every session at once, for `reason`; `drain`'s callback follows.
  void abort_all(Reason reason);

  // Ends the sessions that are left, each at a moment of its own between the two, the same in every process.
  void end_evenly(std::int64_t from_ms, std::int64_t until_ms, Reason reason);
  // Ends the session of this id; `done` is told on the control loop whether there was one.
  void kill(const std::string& id, std::function<void(bool found)> done);
  // Has every loop's policy review its sessions.
  void review_sessions();

  // A drain outlives its process: whoever begins one writes it here, whoever goes on with one reads it.
  [[nodiscard]] DrainRecord& drain_record() const { return table_.control_record().drain; }
  // Of a listener as records number them, removed ones included.
  [[nodiscard]] std::string listener_name(std::uint16_t index) const {
    return table_.control_record().listener_name(number_of(index));
  }

  // The addresses that are listened on, as bound: port 0 has become a port.
  [[nodiscard]] const std::vector<sys::SocketAddress>& addresses() const { return addresses_; }
  [[nodiscard]] std::uint32_t sessions() const;  // any thread
  [[nodiscard]] std::uint32_t max_sessions() const { return settings_.max_sessions; }
  [[nodiscard]] unsigned loops() const { return settings_.loops; }
  [[nodiscard]] const SessionTable& table() const { return table_; }
  // The sum over all loops.
  [[nodiscard]] std::uint64_t count(unsigned counter) const;  // any thread

  // Runs `task` on each loop's thread with that loop's policy. Any thread.
  void for_each_policy(const std::function<void(SessionPolicy&)>& task);
  // Runs `visit` on every loop's thread, one loop at a time, for each of its sessions, then `done` on the control loop.
  void for_each_session(std::function<void(const SessionView&)> visit, std::function<void()> done);

 private:
  // More slots than sessions, for each loop: their counts change at different moments of a session's end.
  static constexpr std::uint32_t kSpareSlots = 64;

  // Listeners that the next process is to find open.
  struct Ahead {
    Ahead(sys::Log& log, const std::vector<ListenerOptions>& next)
        : settings{.listeners = next}, listeners(log, settings) {}
    EngineSettings settings;
    Listeners listeners;
  };

  [[nodiscard]] sys::Result<void> create_table();
  void take_shape();
  [[nodiscard]] sys::Result<void> make_loops();
  [[nodiscard]] sys::Result<void> start_loops(bool resumed, std::vector<Inheritance::Listener> passed);
  void tell_keeper();
  void claim_sessions(Inheritance& inheritance);
  void name_listeners();
  [[nodiscard]] ListenerNumber number_of(std::uint16_t index) const {
    return {.number = index, .numbering = numbering_};
  }
  void accept(std::vector<sys::UniqueFd> newcomers);
  void visit_from(std::size_t loop, std::shared_ptr<std::function<void(const SessionView&)>> visit,
                  std::function<void()> done);
  void close();

  sys::Loop& control_;
  sys::Log& log_;
  EngineSettings settings_;
  PolicyFactory make_policy_;
  KeeperLink* keeper_;
  HandOverCause cause_ = HandOverCause::fresh;
  Claim claim_;
  std::uint16_t numbering_ = 0;
  std::vector<Overruled> overruled_;
  SessionTable table_;
  Limiters limiters_;
  std::vector<std::unique_ptr<RelayLoop>> loops_;
  Listeners listeners_;
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<Ahead> ahead_;
  std::vector<sys::SocketAddress> addresses_;
  std::function<void()> drained_;
  std::atomic<bool> draining_{false};
  std::unique_ptr<sys::Async> ended_;   // a session's end that somebody waits for
  std::unique_ptr<sys::Mailbox> mail_;  // answers from the loops
};

}  // namespace ravelin::relay
