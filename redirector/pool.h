// The origins of one pool, and the candidates that their names have at the moment. Belongs to the control loop; hands
// out views for the relay loops. It asks nobody anything: whoever resolves names brings the answers and is told when to
// ask again. Randomness comes from outside.
//
// An answer replaces what its name had; no answer, or an empty one, leaves it as it is. Candidates are known by their
// address: one that comes back while sessions still use it is the same one, with its counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "redirector/candidate.h"
#include "redirector/settings.h"
#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::redirector {

class Pool {
 public:
  using Random = std::function<double()>;  // from 0 up to, not including, 1
  using Answer = sys::Result<std::vector<sys::SocketAddress>>;

  struct Origin {
    sys::Endpoint endpoint;
    bool is_name = false;
    std::uint32_t max_sessions = 0;
    std::vector<std::shared_ptr<Candidate>> candidates;
    std::string failure;    // why the last answer was none; empty if it was one
    unsigned failures = 0;  // in a row
    bool answered = false;  // at least once

    [[nodiscard]] bool is_resolved() const { return answered && failure.empty(); }
  };

  // What an answer has changed, for the log and for the loops.
  struct Update {
    enum class Turn : std::uint8_t { none, failing, recovered };
    Turn turn = Turn::none;
    std::vector<std::string> added;
    std::vector<std::string> removed;
    std::size_t left_out = 0;  // addresses for which the pool has no room
    sys::Duration ask_again{};

    [[nodiscard]] bool changed() const { return !added.empty() || !removed.empty(); }
  };

  Pool(PoolSettings settings, Random random);

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  // Takes another list of origins, balancing and so on. Names that stay keep what they had.
  void apply(PoolSettings settings);
  [[nodiscard]] Update resolved(std::size_t origin, const Answer& answer);

  [[nodiscard]] const std::shared_ptr<const PoolView>& view() const { return view_; }
  // Why no session of this pool can reach an origin; empty if one can, or should try.
  [[nodiscard]] std::string trouble(std::int64_t now_ms) const;

 private:
  [[nodiscard]] std::shared_ptr<Candidate> candidate_at(const sys::Endpoint& origin,
                                                        const std::optional<sys::SocketAddress>& ip);
  [[nodiscard]] std::shared_ptr<Candidate> living(const std::string& address) const;
  [[nodiscard]] sys::Duration spread(sys::Duration delay) const;
  void rebuild_view();

  PoolSettings settings_;
  Random random_;
  std::vector<Origin> origins_;
  std::vector<std::weak_ptr<Candidate>> by_index_;
  std::shared_ptr<std::atomic<std::uint32_t>> turn_;
  std::shared_ptr<const PoolView> view_;
};

}  // namespace ravelin::redirector
