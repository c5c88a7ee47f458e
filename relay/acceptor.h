// Accepts from every listener and gives each connection to the loop with the fewest sessions.
//
// One acceptor for all loops, on the first of them, where a connection that stays there costs no message: with a
// listener for each thread (SO_REUSEPORT), connections that wait in the queue of a listener that goes away are reset,
// and sessions that live for weeks stay where chance put them.
//
// Where it cannot accept (no descriptors, a limit that leaves them there), connections wait in the kernel's backlog
// until it can. Those that a limit refuses are accepted and ended before any loop hears of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relay/limiter.h"
#include "relay/listeners.h"
#include "relay/relay_loop.h"
#include "relay/settings.h"
#include "sys/log.h"
#include "sys/log_budget.h"
#include "sys/uv.h"

namespace ravelin::relay {

class Acceptor {
 public:
  // `loops` has at least one, and none has started; `listeners` are open when accepting starts. All are borrowed.
  Acceptor(sys::Log& log, const EngineSettings& settings, CounterBlock& counters, const Limiters& limiters,
           const std::vector<std::unique_ptr<RelayLoop>>& loops, const Listeners& listeners);
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor();

  // Once the loops run everything belongs to the first loop's thread, unless it says otherwise.

  // Begins with what an earlier process had accepted and not begun; closes what no listener here has accepted. Only
  // when the keeper has let go of them: or they would be named to the next process twice.
  void admit(std::vector<sys::UniqueFd> newcomers);
  void start();
  // For good. What waits in the backlogs is the listeners' to keep, for another process, or to refuse by being closed.
  void stop();

  // A session has ended somewhere: accepting may go on. Any thread.
  void session_ended() { room_.send(); }
  // True while a session's end would let accepting go on. Any thread.
  [[nodiscard]] bool is_waiting_for_an_end() const { return full_.load(); }

 private:
  enum class Held : std::uint8_t { no, until_a_token, until_an_end };
  struct Queue {  // of one listener
    const Listeners::Listener* listener;
    std::unique_ptr<sys::Poll> poll;
    Held held = Held::no;        // by its listener's own limits
    std::uint32_t appetite = 1;  // connections that the next turn is likely to find
  };

  void accept_from(Queue& queue);
  [[nodiscard]] bool is_admitted(Accepted& client, std::uint32_t on_the_way, std::int64_t now);
  void refuse(const Accepted& client, Limit limit, AtLimit action, std::int64_t now);
  void hold(Queue& queue, const Limiter::Hold& hold);
  void let_go(Held held);
  [[nodiscard]] bool is_any_held(Held held) const;
  void hand_over(std::vector<std::vector<Accepted>> batches);
  [[nodiscard]] bool is_full(std::uint32_t on_the_way) const;
  void assign(Accepted client, std::vector<std::vector<Accepted>>& batches) const;
  [[nodiscard]] bool keep_spare();
  void pause(int error);
  void log_pause(std::string_view reason);
  void look_for_room();
  void resume();

  sys::Log& log_;
  const EngineSettings& settings_;
  CounterBlock& counters_;
  const Limiters& limiters_;
  const std::vector<std::unique_ptr<RelayLoop>>& loops_;
  const Listeners& listeners_;
  std::vector<Queue> queues_;
  sys::Async room_;
  sys::Timer retry_;
  sys::Timer token_;  // a rate that holds a listener has one more
  std::int64_t token_due_ms_ = 0;
  sys::Timer say_held_back_;
  sys::LogBudget refused_lines_{"limit_reached", 20, 100};
  std::vector<sys::UniqueFd> spare_;  // given up while descriptors are short, so that others find some
  std::atomic<bool> full_{false};     // sequentially consistent with the loops' loads, or both sides could miss an end
  bool paused_ = false;
  std::int64_t last_logged_ms_ = 0;
};

}  // namespace ravelin::relay
