// Decides at accept whether a listener has room for one more session, by its limits in the order of their table: what
// costs least first. Sans-io: time and the peer's address come from outside, whoever asks acts on the answer.
//
// Asked on the acceptor's thread; ended() is for any thread. Nothing of it is needed after a death: the counts of
// sessions are rebuilt from the session table by adopt(), the rates begin with a full burst.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "relay/limits.h"
#include "relay/source_table.h"
#include "relay/token_bucket.h"
#include "sys/address.h"

namespace ravelin::relay {

class Limiter {
 public:
  struct Decision {
    Limit limit = Limit::none;  // none: admitted, and counted until ended()
    AtLimit action = AtLimit::reset;
    std::uint32_t source = 0;  // admitted: what ended() wants to know
    bool shared = false;       // the source found no place of its own
  };
  // Nothing is to be accepted now. Without a time: until a session of the listener ends.
  struct Hold {
    Limit limit = Limit::none;
    std::optional<std::int64_t> for_ms;
  };

  Limiter(const ListenerLimits& limits, std::uint64_t seed);

  // Before a connection is accepted, for the limits that leave it in the backlog.
  [[nodiscard]] std::optional<Hold> hold(std::int64_t now_ms);
  // Of an accepted connection.
  [[nodiscard]] Decision admit(const sys::SocketAddress& peer, std::int64_t now_ms);
  // A session that another process had admitted; returns its source.
  [[nodiscard]] std::uint32_t adopt(const sys::SocketAddress& peer);
  void ended(const sys::SocketAddress& peer, std::uint32_t source);

  [[nodiscard]] bool has_room() const { return limits_.sessions.most == 0 || sessions_.load() < limits_.sessions.most; }
  [[nodiscard]] std::uint32_t sessions() const { return sessions_.load(); }
  [[nodiscard]] std::uint32_t sources() const { return sources_ ? sources_->used() : 0; }

 private:
  [[nodiscard]] bool counts_source(const sys::SocketAddress& peer) const { return sources_ && peer.is_ip(); }

  ListenerLimits limits_;
  // Sequentially consistent with the acceptor's mark that it waits for an end, or both sides could miss it.
  std::atomic<std::uint32_t> sessions_{0};
  TokenBucket bucket_;
  std::unique_ptr<SourceTable> sources_;  // with a source limit
};

// The limiters of all listeners, as the settings number them; null where a listener has no limit.
using Limiters = std::vector<std::unique_ptr<Limiter>>;

// Null for a listener that is not there any more, too: its sessions may live on.
[[nodiscard]] inline Limiter* limiter_of(const Limiters& limiters, std::uint16_t listener) {
  return listener < limiters.size() ? limiters[listener].get() : nullptr;
}

}  // namespace ravelin::relay
