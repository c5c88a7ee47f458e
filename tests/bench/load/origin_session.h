// One accepted connection of the origin: takes the PROXY header and the order off, then does what the order says.
// Owned by the Origin, which it asks to be forgotten when the connection has ended.
#pragma once

#include <cstdint>
#include <string>

#include "sys/unique_fd.h"
#include "tests/bench/load/counters.h"
#include "tests/bench/load/order.h"
#include "tests/bench/load/poller.h"

namespace ravelin::bench {

class OriginSession;

// What a session needs of the origin around it.
class SessionOwner {
 public:
  virtual void ended(OriginSession& session) = 0;
  // Calls session.read_slowly() every 50 ms until the session has ended.
  virtual void tick(OriginSession& session) = 0;

 protected:
  ~SessionOwner() = default;
};

class OriginSession final : public Ready {
 public:
  OriginSession(sys::UniqueFd fd, Poller& poller, Counters& counters, SessionOwner& owner);

  void on_ready(std::uint32_t events) override;
  void read_slowly();
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  void read_prelude();
  bool take_prelude();
  void begin();
  void read_some();
  void took(std::uint64_t bytes);
  void write_some();
  void write_mirror();
  void read_mirror();
  void watch(std::uint32_t events);
  void end(bool clean);

  sys::UniqueFd fd_;
  Poller& poller_;
  Counters& counters_;
  SessionOwner& owner_;
  std::string prelude_;  // PROXY header and order, until both are complete; then what Task::mirror still owes
  Order order_;
  bool working_ = false;
  bool ended_ = false;
  std::uint32_t watched_ = 0;
  std::uint64_t question_got_ = 0;
  std::uint64_t owed_ = 0;  // answer bytes not sent yet
};

}  // namespace ravelin::bench
