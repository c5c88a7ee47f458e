// What an operator can have a daemon do, over the admin socket: reload, upgrade, drain, kill. And how a reload or an
// upgrade goes on that ends only with the next worker: whoever asked looks at GET /worker until the process is another
// one, or says that the wish was refused.
//
// Belongs to the control loop's thread; borrows what it acts on. Owned by the daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "admin/server.h"
#include "config/print.h"
#include "daemon/reload.h"
#include "relay/engine.h"
#include "relay/keeper_link.h"
#include "sys/log.h"

namespace ravelin::daemon {

class Control {
 public:
  struct Drain {
    std::optional<sys::Duration> timeout;  // nothing: as the settings say
    std::optional<sys::Duration> spread;
  };
  struct Actions {
    std::function<Revision()> revise;
    std::function<void(const Drain&)> drain;
    std::function<bool()> is_draining;
  };
  struct Outcome {
    unsigned status = 200;
    std::string outcome;  // "applied", "handing_over", "refused"
    std::string error;
    Revision revision;
  };

  Control(sys::Log& log, relay::Engine& engine, relay::KeeperLink* keeper, std::string version, Actions actions);

  void add_pages(admin::AdminServer& server);
  // The file is read again: applied, refused, or a new worker is asked for.
  Outcome reload();
  Outcome upgrade();
  // The keeper's answer to these wishes (see relay::wish()): nothing has changed.
  void refused(std::uint32_t wishes, const std::string& why);
  // For a restart.
  [[nodiscard]] std::vector<config::Change> waiting() const;

 private:
  [[nodiscard]] Outcome refuse_reload(Outcome outcome, std::string error);
  [[nodiscard]] Outcome ask(relay::HandOverCause cause, std::uint32_t ahead, Outcome outcome);
  void dry_run(admin::Reply reply);
  void answer_drain(const admin::Request& request, admin::Reply reply);
  [[nodiscard]] admin::Response drain_page() const;
  [[nodiscard]] admin::Response worker_page() const;

  sys::Log& log_;
  relay::Engine& engine_;
  relay::KeeperLink* keeper_;  // null: none
  std::string version_;
  Actions actions_;
  std::vector<config::Change> waiting_;  // since the last reload
  std::uint32_t pending_ = 0;            // the wish for another worker that was not answered yet; 0: none
  std::string refusal_;                  // of the last such wish
};

}  // namespace ravelin::daemon
