// What the gateway decides about its sessions: the header comes off, claim and measurement are kept apart, the inner
// connection is entered into the peer map before it connects, and one line is written at the end of every session that
// carried something. One object a loop, used on that loop's thread alone.
//
// A session's entry in the peer map exists from before its connect to the end of the session. Its guard lives here, in
// private memory; all that the entry says lies in the table, so a process that takes the table over makes it again.
#pragma once

#include <ppv2/peer_map.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "gateway/counters.h"
#include "gateway/door.h"
#include "gateway/inner_header.h"
#include "gateway/inner_hop.h"
#include "relay/clock.h"
#include "relay/counters.h"
#include "relay/policy.h"
#include "sys/log.h"
#include "sys/log_budget.h"

namespace ravelin::gateway {

// Of all loops; never changed, replaced as a whole.
struct GatewayFacts {
  std::vector<Door> doors;  // as the engine numbers its listeners
  sys::Endpoint inner;
  std::vector<sys::SocketAddress> inner_sources;
  InnerHeader inner_header = InnerHeader::none;
};

class GatewayPolicy final : public relay::SessionPolicy {
 public:
  using Clock = std::function<std::int64_t()>;  // milliseconds of CLOCK_MONOTONIC

  // Borrows peers, counters and log.
  GatewayPolicy(std::shared_ptr<const GatewayFacts> facts, ppv2::PeerMap& peers, relay::CounterBlock& counters,
                sys::Log& log, Clock now = relay::monotonic_ms);

  ~GatewayPolicy() override { say_held_back(); }

  // Other rules for the same listeners and the same server; for what comes from now on.
  void replace(std::shared_ptr<const GatewayFacts> facts);
  void say_held_back();

  relay::Opening inspect(relay::SessionView session, std::span<const std::byte> bytes, bool ended) override;
  relay::Opening on_silence(relay::SessionView session, std::span<const std::byte> bytes) override;
  std::optional<relay::Target> next_target(relay::SessionView session) override;
  sys::Result<void> prepare(relay::SessionView session, int fd, const relay::Target& target) override;
  void attempt_failed(relay::SessionView session, int error) override;
  std::size_t write_header(relay::SessionView session, std::span<std::byte> out) override;
  void removed_listeners(const std::vector<std::string>& names) override;
  void relaying(relay::SessionView session) override;
  void ending(relay::SessionView session) override;
  void ended(relay::SessionView session) override;

 private:
  [[nodiscard]] const Door& door_of(const relay::SessionRecord& record) const;
  [[nodiscard]] relay::Opening look(relay::SessionView session, std::span<const std::byte> bytes, ppv2::Moment moment);
  void count_opening(GatewaySession& kept, Opened outcome);
  [[nodiscard]] bool may_log(const relay::SessionRecord& record, const GatewaySession& kept);
  void log_end(relay::SessionView session);

  std::shared_ptr<const GatewayFacts> facts_;
  std::vector<Door> removed_;  // listeners that are not in the settings any more, numbered after its doors
  ppv2::PeerMap& peers_;
  relay::CounterBlock& counters_;
  sys::Log& log_;
  Clock now_;
  // Scanners, or a server that is down, must not fill the disk; what was served is what the log is for.
  sys::LogBudget refused_lines_{"session_refused", 20, 100};
  sys::LogBudget failed_lines_{"session_failed", 20, 100};
  InnerHop hop_;
  std::unordered_map<const relay::SessionRecord*, ppv2::PeerMap::Guard> guards_;  // a record stands for its slot
};

}  // namespace ravelin::gateway
