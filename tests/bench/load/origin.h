// The origin's side of the generator: accepts, and lets each session do what its order says, until SIGTERM.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/bench/load/origin_session.h"
#include "tests/bench/load/poller.h"

namespace ravelin::bench {

class Origin final : public Ready, private SessionOwner {
 public:
  Origin(sys::UniqueFd listener, Counters& counters);

  void on_ready(std::uint32_t events) override;  // the listener's
  void run();                                    // returns never: a signal ends the process

 private:
  void ended(OriginSession& session) override;
  void tick(OriginSession& session) override;
  void serve_slow_readers();

  sys::UniqueFd listener_;
  Counters& counters_;
  Poller poller_;
  std::unordered_map<int, std::unique_ptr<OriginSession>> sessions_;
  std::vector<std::unique_ptr<OriginSession>> finished_;  // destroyed after the turn that ended them
  std::vector<OriginSession*> slow_;
};

}  // namespace ravelin::bench
