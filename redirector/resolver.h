// Keeps the names of the pools resolved: asks the system's resolver for each, tells the pool, and asks again when the
// pool says so. On the control loop; a resolver that hangs holds up no session, only names (libuv asks for four at a
// time).
//
// Says in the log what changes: a set of addresses, a name that begins to fail, one that answers again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "redirector/pool.h"
#include "sys/log.h"
#include "sys/uv.h"

namespace ravelin::redirector {

class Resolver {
 public:
  using Changed = std::function<void(std::size_t pool)>;

  // `pools` is the owner's, and stays in its place; `changed` is told of each new view.
  Resolver(sys::Loop& loop, sys::Log& log, std::vector<Pool>& pools, Changed changed);

  // Asks for every name now. To be called again when the origins of a pool have been changed. `answered` follows once
  // each has been answered in some way, at once if there is none.
  void start(std::function<void()> answered = {});

 private:
  struct Question {
    std::size_t pool;
    std::size_t origin;
    sys::Timer timer;
    std::unique_ptr<sys::Resolve> request;
  };

  void ask(Question& question);
  void answered(Question& question, const Pool::Answer& answer);
  void tell_if_answered();
  void log_update(const Pool& pool, const Pool::Origin& origin, const Pool::Update& update);

  sys::Loop& loop_;
  sys::Log& log_;
  std::vector<Pool>& pools_;
  Changed changed_;
  std::vector<std::unique_ptr<Question>> questions_;
  std::function<void()> answered_;
};

}  // namespace ravelin::redirector
