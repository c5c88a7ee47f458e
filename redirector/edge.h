// The redirector put together: pools, their resolver, the policies that the loops use, the admin pages, and reloading.
// On the control loop; made before the daemon runs, and gone after it.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "daemon/daemon.h"
#include "redirector/edge_policy.h"
#include "redirector/pool.h"
#include "redirector/resolver.h"
#include "redirector/settings.h"

namespace ravelin::redirector {

class Edge {
 public:
  Edge(daemon::Daemon& daemon, config::Loaded<Settings> loaded);
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  [[nodiscard]] daemon::Plan plan();

 private:
  [[nodiscard]] std::unique_ptr<EdgePolicy> make_policy(relay::Engine& engine, unsigned loop) const;
  void publish(std::size_t pool);
  void say_held_back();
  [[nodiscard]] daemon::Revision revise();
  void apply(const config::Loaded<Settings>& next);

  daemon::Daemon& daemon_;
  const config::Schema<Settings> schema_;
  config::Loaded<Settings> loaded_;  // in force
  EdgeFacts facts_;
  std::vector<Pool> pools_;
  Resolver resolver_;
  sys::Timer say_held_back_;
  bool asked_ = false;               // the resolver has been, before the engine was there
  relay::Engine* engine_ = nullptr;  // the daemon's, while it runs
};

}  // namespace ravelin::redirector
