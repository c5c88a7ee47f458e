// The sessions of one loop, from the accepted client to the last close.
//
//   waiting ──▶ connecting ──▶ relaying ──▶ (closing) ──▶ free
//      │            │ ▲ next origin  │
//      └────────────┴─┴──────────────┴──▶ end
//
// Everything that a session needs lies in the table and in the kernel. What is kept here for a slot (its deadline, its
// place on the ready list) is rebuilt from the record by resume_adopted(), which is also what happens after a crash.
//
// All of it runs on the loop's thread. Owns the sockets that the records name.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "relay/deadlines.h"
#include "relay/endings.h"
#include "relay/limiter.h"
#include "relay/pipe_pool.h"
#include "relay/policy.h"
#include "relay/pump.h"
#include "relay/readiness.h"
#include "relay/settings.h"
#include "relay/slots.h"
#include "sys/uv.h"

namespace ravelin::relay {

// A client that has connected. Both addresses are measured: by accept4(2), because getpeername(2) fails on a connection
// that was reset meanwhile.
struct Accepted {
  sys::UniqueFd fd;
  std::uint16_t listener = 0;
  sys::SocketAddress peer;
  sys::SocketAddress local;
  std::uint32_t source = 0;  // see Limiter
};

class Sessions {
 public:
  // `on_ended` follows each session's end, when its slot is free again.
  Sessions(sys::Loop& loop, const SessionTable& table, std::uint32_t index, const EngineSettings& settings,
           SessionPolicy& policy, const Limiters& limiters, std::function<void()> on_ended);

  // One turn of the loop: sleeps until something can go on, and goes on with it. Whatever else the thread's uv loop
  // does happens in here as well.
  void turn();

  void begin(Accepted client);
  // Takes over the sessions that stand in the table and returns how many they are; resume_adopted() goes on with them.
  // Once, before anything else.
  [[nodiscard]] std::uint32_t adopt();
  void resume_adopted();
  void end_all(Reason reason);
  // Each of the sessions at a moment of its own, which its id settles.
  void end_evenly(std::int64_t from_ms, std::int64_t until_ms, Reason reason);
  [[nodiscard]] bool kill(const std::string& id);  // false: it is not here
  void review();
  // Another process takes over: nothing is touched any more.
  void freeze() { frozen_ = true; }
  void for_each(const std::function<void(const SessionView&)>& visit) const;

 private:
  using Place = std::uint32_t;  // a slot of this loop, see Slots

  // Before the bytes move.
  void look(Place place, std::uint32_t flags);
  void act_on(Place place, const Opening& opening, std::size_t seen);
  void connect(Place place);
  [[nodiscard]] sys::Result<bool> try_target(Place place, const Target& target);
  void give_up_attempt(Place place, int error);
  void client_event_while_connecting(Place place, std::uint32_t flags);
  void origin_event_while_connecting(Place place, std::uint32_t flags);
  void open(Place place, std::uint32_t origin_flags);
  // While they move.
  void relay_event(Place place, Side side, std::uint32_t flags);
  [[nodiscard]] bool run_flow(Place place, Side from);
  void fail(Place place, Side side, int error);
  void touch(Place place);
  [[nodiscard]] Duration silence_allowed(const SessionRecord& record) const;
  void settle_later(Place place);
  void settle(Place place);
  void run_ready();
  // Around them.
  void resume(Place place);
  void on_event(Readiness::Event event);
  void run_deadlines(std::int64_t now);
  [[nodiscard]] int patience(std::int64_t now) const;
  void deadline_passed(Place place);
  void end(Place place, EndSide side, EndKind kind, Reason reason);
  void relaying(Place place);
  void end_later(Place place);
  void end_with_the_drain(Place place);
  void run_endings(std::int64_t now);
  void drop_origin(SessionRecord& record);
  void end_without_target(Place place);
  [[nodiscard]] std::uint64_t token(Place place, Side side) const;
  [[nodiscard]] const ListenerOptions& options(const SessionRecord& record) const;
  [[nodiscard]] bool is_removed(const SessionRecord& record) const;
  [[nodiscard]] SessionId new_id(std::int64_t wall_us);

  const SessionTable& table_;
  const EngineSettings& settings_;
  SessionPolicy& policy_;
  const Limiters& limiters_;
  CounterBlock& counters_;
  std::span<std::byte, SessionTable::kBufferBytes> buffer_;
  std::function<void()> on_ended_;
  Slots slots_;
  std::vector<Place> adopted_;
  bool frozen_ = false;
  PipePool pipes_;
  Pump pump_;
  Deadlines deadlines_;
  std::vector<std::uint64_t> ready_;  // client's tokens of sessions that have used up their turn, some of them twice
  std::mt19937_64 random_;
  Endings endings_;  // by end_by_ms of the records
  Endings drain_;    // by a drain
  struct Drain {
    std::int64_t from_ms = 0;
    std::int64_t until_ms = 0;
    Reason reason = Reason::none;  // none: there is no drain
  };
  Drain draining_;
  Readiness readiness_;
};

}  // namespace ravelin::relay
