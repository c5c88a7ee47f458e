#include "redirector/pool.h"

#include <algorithm>
#include <utility>

#include "redirector/balance.h"

namespace ravelin::redirector {
namespace {

bool holds(const std::vector<std::shared_ptr<Candidate>>& candidates, const std::string& address) {
  return std::ranges::any_of(candidates, [&](const auto& candidate) { return candidate->address == address; });
}

// Addresses of `left` that `right` has not.
std::vector<std::string> missing(const std::vector<std::shared_ptr<Candidate>>& left,
                                 const std::vector<std::shared_ptr<Candidate>>& right) {
  std::vector<std::string> result;
  for (const auto& candidate : left) {
    if (!holds(right, candidate->address)) result.push_back(candidate->address);
  }
  return result;
}

}  // namespace

Pool::Pool(PoolSettings settings, Random random)
    : random_(std::move(random)), turn_(std::make_shared<std::atomic<std::uint32_t>>(0)) {
  apply(std::move(settings));
}

void Pool::apply(PoolSettings settings) {
  settings_ = std::move(settings);
  std::vector<Origin> before = std::exchange(origins_, {});
  for (const OriginSettings& wanted : settings_.origins) {
    const auto same = std::ranges::find(before, wanted.address, &Origin::endpoint);
    if (same != before.end()) {
      origins_.push_back(*same);
      origins_.back().max_sessions = wanted.max_sessions;
      continue;
    }
    Origin& origin = origins_.emplace_back(Origin{.endpoint = wanted.address, .max_sessions = wanted.max_sessions});
    const auto literal = wanted.address.literal();
    origin.is_name = !literal && !wanted.address.is_unix();
    if (origin.is_name) continue;
    if (auto only = candidate_at(wanted.address, literal)) origin.candidates.push_back(std::move(only));
  }
  rebuild_view();
}

Pool::Update Pool::resolved(std::size_t index, const Answer& answer) {
  Origin& origin = origins_.at(index);
  Update update;
  if (!answer || answer->empty()) {
    if (origin.failure.empty()) update.turn = Update::Turn::failing;
    origin.failure = answer ? "no addresses" : answer.error().text();
    const unsigned doublings = std::min(origin.failures++, 16U);
    update.ask_again = spread(std::min(settings_.resolve_backoff * (1U << doublings), settings_.resolve_interval));
    return update;
  }
  if (!origin.failure.empty()) update.turn = Update::Turn::recovered;
  origin.failure.clear();
  origin.failures = 0;
  origin.answered = true;
  update.ask_again = spread(settings_.resolve_interval);

  // Resolvers rotate their answers. Who was there keeps its place, so that "the first available" stays the first.
  std::vector<std::shared_ptr<Candidate>> now;
  for (const auto& candidate : origin.candidates) {
    const bool stays =
        std::ranges::any_of(*answer, [&](const auto& each) { return each.text() == candidate->address; });
    if (stays) now.push_back(candidate);
  }
  for (const sys::SocketAddress& address : *answer) {
    if (holds(now, address.text())) continue;
    if (auto candidate = candidate_at(origin.endpoint, address)) {
      now.push_back(std::move(candidate));
    } else {
      ++update.left_out;
    }
  }
  update.added = missing(now, origin.candidates);
  update.removed = missing(origin.candidates, now);
  if (!update.changed()) return update;
  origin.candidates = std::move(now);
  rebuild_view();
  return update;
}

std::string Pool::trouble(std::int64_t now_ms) const {
  if (view_->candidates.empty()) return "no origin of pool " + name() + " is resolved";
  if (!is_reachable(*view_, now_ms)) return "no origin of pool " + name() + " is reachable";
  return {};
}

std::shared_ptr<Candidate> Pool::living(const std::string& address) const {
  for (const auto& each : by_index_) {
    if (auto candidate = each.lock(); candidate && candidate->address == address) return candidate;
  }
  return nullptr;
}

// Null when the pool is full. An index is free again when nobody holds its candidate any more, no loop and no session.
std::shared_ptr<Candidate> Pool::candidate_at(const sys::Endpoint& origin,
                                              const std::optional<sys::SocketAddress>& ip) {
  std::string address = ip ? ip->text() : origin.text();
  if (auto candidate = living(address)) return candidate;
  const auto free = std::ranges::find_if(by_index_, [](const auto& each) { return each.expired(); });
  if (free == by_index_.end() && by_index_.size() == kMostCandidates) return nullptr;

  auto candidate = std::make_shared<Candidate>();
  candidate->index = static_cast<std::uint16_t>(free - by_index_.begin());
  candidate->length =
      ip ? ip->to(candidate->socket_address) : sys::unix_address(origin.path, candidate->socket_address).value_or(0);
  candidate->address = std::move(address);
  if (free == by_index_.end()) {
    by_index_.push_back(candidate);
  } else {
    *free = candidate;
  }
  return candidate;
}

// Plus or minus a fifth, so that edges started together do not ask together.
sys::Duration Pool::spread(sys::Duration delay) const {
  const double factor = 0.8 + 0.4 * random_();
  return sys::Duration(static_cast<sys::Duration::rep>(static_cast<double>(delay.count()) * factor));
}

void Pool::rebuild_view() {
  auto view = std::make_shared<PoolView>();
  view->balancing = settings_.balancing;
  view->connect_attempts = settings_.connect_attempts;
  view->close_when_full = settings_.at_max_sessions == relay::AtLimit::close;
  for (const sys::SourceAddress& source : settings_.source_addresses) view->sources.push_back(source.address);
  view->turn = turn_;
  view->mark = mark_of(settings_.name);
  view->close_removed_after = settings_.close_removed_after;
  for (const Origin& origin : origins_) {
    view->origins.push_back(mark_of(origin.endpoint.text()));
    for (const auto& candidate : origin.candidates) {
      if (holds(view->candidates, candidate->address)) continue;
      candidate->origin = origin.endpoint.text();
      candidate->origin_mark.store(mark_of(candidate->origin), std::memory_order_relaxed);
      candidate->max_sessions.store(origin.max_sessions, std::memory_order_relaxed);
      view->candidates.push_back(candidate);
    }
  }
  std::ranges::sort(view->origins);
  view_ = std::move(view);
}

}  // namespace ravelin::redirector
