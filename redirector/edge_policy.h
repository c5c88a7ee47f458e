// What the redirector decides about its sessions: it waits for a first byte of any kind, sends each session to a
// candidate of its listener's pool, and writes one line at the end. One object a loop, used on that loop's thread
// alone; views of the pools are brought to it there.
//
// A session counts in its candidate's `sessions` from its assignment to its end or to the failure of the attempt; the
// session's extension says whether it does, and in which process.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redirector/candidate.h"
#include "redirector/header.h"
#include "relay/counters.h"
#include "relay/policy.h"
#include "sys/log.h"
#include "sys/log_budget.h"

namespace ravelin::redirector {

// Counters of the redirector's own, in the shared table.
enum EdgeCounter : unsigned {
  kSessionsWithoutPayload = relay::kPolicyCounters,  // which write no line
  kFailedSessionsHeldBack,                           // whose line was not written, the budget being spent
  kSourcePortsExhausted,                             // attempts that found no free port to come from
};

// Of all loops; not changed while any of them runs.
struct EdgeFacts {
  struct Listener {
    std::string name;
    std::size_t pool = 0;
    bool proxy_header = true;
  };
  std::string edge_name;
  HeaderSettings header;
  std::vector<Listener> listeners;  // as the engine numbers them
  std::uint32_t process = 1;        // not 0, and not what an earlier process had
};

// The policy's part of a session in the shared table.
struct EdgeSession {
  std::uint32_t process = 0;  // EdgeFacts::process of who numbered the record's `origin` and `tried`; 0: none yet
  std::uint32_t counted = 0;  // 1: the session counts there in its candidate's sessions
  std::uint32_t pool = 0;     // mark_of() the pool that it was sent to; 0: that of its listener
  std::uint32_t origin = 0;   // mark_of() the origin, as configured
};

// Which origin a session was sent to, as marks; zeros: none yet.
struct OriginMarks {
  std::uint32_t pool = 0;
  std::uint32_t origin = 0;
};
[[nodiscard]] OriginMarks origin_marks(relay::SessionView session);

class EdgePolicy final : public relay::SessionPolicy {
 public:
  using Views = std::vector<std::shared_ptr<const PoolView>>;
  using Clock = std::int64_t (*)();  // milliseconds of CLOCK_MONOTONIC

  EdgePolicy(const EdgeFacts& facts, sys::Log& log, relay::CounterBlock& counters, Views views, Clock now);

  ~EdgePolicy() override { say_held_back(); }

  void replace(std::size_t pool, std::shared_ptr<const PoolView> view);
  void say_held_back() { failed_lines_.say_held_back(log_); }

  [[nodiscard]] bool looks_at_bytes() const override { return false; }
  relay::Opening inspect(relay::SessionView session, std::span<const std::byte> bytes, bool ended) override;
  std::optional<relay::Target> next_target(relay::SessionView session) override;
  [[nodiscard]] relay::EndKind end_without_target(relay::SessionView session) override;
  sys::Result<void> prepare(relay::SessionView session, int fd, const relay::Target& target) override;
  void attempt_failed(relay::SessionView session, int error) override;
  std::size_t write_header(relay::SessionView session, std::span<std::byte> out) override;
  void review(relay::SessionView session) override;
  void removed_listeners(const std::vector<std::string>& names) override;
  void relaying(relay::SessionView session) override;
  void ending(relay::SessionView session) override;
  void ended(relay::SessionView session) override;

 private:
  struct KnownPool {
    std::shared_ptr<const PoolView> view;
    std::vector<std::shared_ptr<Candidate>> candidates;  // by index; beyond the view those that sessions still count in
  };

  [[nodiscard]] const EdgeFacts::Listener& listener_of(const relay::SessionRecord& record) const;
  [[nodiscard]] const KnownPool* pool_of(relay::SessionView session) const;
  [[nodiscard]] bool is_offered(const PoolView& view, relay::SessionView session) const;
  [[nodiscard]] Candidate* counted_in(relay::SessionView session) const;
  [[nodiscard]] std::string origin_text(relay::SessionView session) const;
  [[nodiscard]] bool count_in_below_limit(relay::SessionView session, std::uint32_t pool, Candidate& candidate) const;
  void count_in(relay::SessionView session, std::uint32_t pool, Candidate& candidate) const;
  void note(relay::SessionView session, std::uint32_t pool, const Candidate& candidate) const;
  void release(relay::SessionView session) const;

  const EdgeFacts& facts_;
  sys::Log& log_;
  relay::CounterBlock& counters_;  // the loop's
  std::vector<KnownPool> pools_;
  std::vector<EdgeFacts::Listener> removed_;  // numbered after those of the facts
  std::size_t source_turn_ = 0;
  Clock now_;
  // When an origin is down every client fails; the finished sessions are what the log is for and have no budget.
  sys::LogBudget failed_lines_{"session_failed", 20, 100};
};

}  // namespace ravelin::redirector
