// The gateway as a daemon: its settings, its peers, and what of both the admin pages show. Belongs to the control loop;
// the policies of the relay loops know the peer map and a copy of the facts.
#pragma once

#include <ppv2/peer_map.h>

#include <memory>
#include <vector>

#include "config/config.h"
#include "daemon/daemon.h"
#include "gateway/schema.h"

namespace ravelin::gateway {

class Front {
 public:
  // Borrows the daemon, and fills its pages and metrics.
  Front(daemon::Daemon& daemon, config::Loaded<Settings> loaded);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Borrows this object.
  [[nodiscard]] daemon::Plan plan();

 private:
  void say_held_back();
  [[nodiscard]] daemon::Revision revise();
  void apply(const config::Loaded<Settings>& next);
  void apply_rules(const Settings& settings);

  daemon::Daemon& daemon_;
  config::Schema<Settings> schema_ = settings_schema();
  config::Loaded<Settings> loaded_;
  std::shared_ptr<const GatewayFacts> facts_;
  ppv2::PeerMap peers_;
  sys::Timer say_held_back_{daemon_.loop(), [this] { say_held_back(); }};
  relay::Engine* engine_ = nullptr;  // the daemon's, while it runs
};

}  // namespace ravelin::gateway
