#include "redirector/edge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "daemon/reload.h"
#include "redirector/edge_pages.h"
#include "redirector/source_ports.h"
#include "relay/clock.h"

namespace ravelin::redirector {
namespace {

std::uint32_t random_process_number() {
  return std::random_device()() | 1U;
}

EdgeFacts facts_of(const Settings& settings) {
  EdgeFacts facts{.edge_name = edge_name_of(settings), .header = settings.header, .process = random_process_number()};
  for (const ListenerSettings& listener : settings.listeners) {
    facts.listeners.push_back({.name = daemon::named(listener).name,
                               .pool = pool_of(settings, listener),
                               .proxy_header = listener.proxy_header});
  }
  return facts;
}

std::vector<Pool> pools_of(const Settings& settings) {
  std::vector<Pool> pools;
  for (const PoolSettings& pool : settings.pools) {
    pools.emplace_back(pool, [random = std::mt19937_64(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>(0, 1)(random);
    });
  }
  return pools;
}

bool same_pools(const Settings& a, const Settings& b) {
  return std::ranges::equal(a.pools, b.pools, {}, &PoolSettings::name, &PoolSettings::name);
}

std::string fate_in(const PoolSettings& pool) {
  if (!pool.close_removed_after) return "go on until they end";
  if (pool.close_removed_after->count() == 0) return "are closed at once";
  return "are closed after " + sys::to_text(*pool.close_removed_after);
}

// A pool that is gone as a whole has no setting that could close what is left in it.
void say_removed_origins(const std::vector<PoolSettings>& before, const std::vector<PoolSettings>& next,
                         daemon::Revision& revision) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> places;  // by the marks of pool and origin
  for (const PoolSettings& pool : before) {
    const auto now = std::ranges::find(next, pool.name, &PoolSettings::name);
    for (const OriginSettings& origin : pool.origins) {
      if (now != next.end() && std::ranges::count(now->origins, origin.address, &OriginSettings::address) != 0)
        continue;
      places[{mark_of(pool.name), mark_of(origin.address.text())}] = revision.touched.size();
      revision.touched.push_back({.what = fmt::format("origin {} of pool {}", origin.address.text(), pool.name),
                                  .fate = fate_in(now == next.end() ? PoolSettings{} : *now)});
    }
  }
  revision.touches = [places = std::move(places)](const relay::SessionView& session) -> std::optional<std::size_t> {
    const auto marks = origin_marks(session);
    const auto found = places.find({marks.pool, marks.origin});
    return found == places.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace

Edge::Edge(daemon::Daemon& daemon, config::Loaded<Settings> loaded)
    : daemon_(daemon),
      schema_(settings_schema()),
      loaded_(std::move(loaded)),
      facts_(facts_of(loaded_.settings)),
      pools_(pools_of(loaded_.settings)),
      resolver_(daemon.loop(), daemon.log(), pools_, [this](std::size_t pool) { publish(pool); }),
      say_held_back_(daemon.loop(), [this] { say_held_back(); }) {
  add_edge_pages(daemon.admin(), pools_);
  add_edge_metrics(daemon.metrics(), pools_);
  add_edge_conditions(daemon.readiness(), pools_);
}

daemon::Plan Edge::plan() {
  daemon::Plan plan;
  plan.engine = daemon::engine_settings(loaded_.settings);
  plan.engine.extension_bytes = sizeof(EdgeSession);
  for (const ListenerSettings& listener : loaded_.settings.listeners) {
    plan.engine.listeners.push_back(daemon::named(listener));
  }
  plan.make_policy = [this](relay::Engine& engine, unsigned loop) { return make_policy(engine, loop); };
  plan.prepare = [this](std::function<void()> done) {
    asked_ = true;
    resolver_.start(std::move(done));
  };
  plan.started = [this](relay::Engine& engine) {
    engine_ = &engine;
    add_session_metrics(daemon_.metrics(), engine);
    if (!asked_) resolver_.start();
    warn_of_few_source_ports(daemon_.log(), pools_, loaded_.settings.max_sessions);
    say_held_back_.start(sys::LogBudget::kSayEvery, sys::LogBudget::kSayEvery);
  };
  plan.config_text = [this] { return config::print(loaded_, schema_); };
  plan.revise = [this] { return revise(); };
  return plan;
}

std::unique_ptr<EdgePolicy> Edge::make_policy(relay::Engine& engine, unsigned loop) const {
  EdgePolicy::Views views;
  for (const Pool& pool : pools_) views.push_back(pool.view());
  return std::make_unique<EdgePolicy>(facts_, daemon_.log(), engine.table().counters(loop), std::move(views),
                                      relay::monotonic_ms);
}

void Edge::publish(std::size_t pool) {
  if (engine_ == nullptr) return;  // whoever starts takes the views as they are then
  engine_->for_each_policy([pool, view = pools_[pool].view()](relay::SessionPolicy& policy) {
    static_cast<EdgePolicy&>(policy).replace(pool, view);
  });
}

void Edge::say_held_back() {
  engine_->for_each_policy([](relay::SessionPolicy& policy) { static_cast<EdgePolicy&>(policy).say_held_back(); });
}

// Pools are taken over while they are the same pools by name; everything else is settled when the loops start.
daemon::Revision Edge::revise() {
  const auto means = [this](const config::Change& change, const Settings& next) {
    const bool same = same_pools(loaded_.settings, next);
    const bool in_place = change.path == "log.level" || (same && change.path.starts_with("pools["));
    return in_place ? daemon::Means::in_place : daemon::Means::hand_over;
  };
  const auto say_touched = [this](const Settings& next, daemon::Revision& revision) {
    say_removed_origins(loaded_.settings.pools, next.pools, revision);
  };
  return daemon::revision<Settings>(
      loaded_, schema_, means, [this](const auto& next) { apply(next); }, say_touched);
}

void Edge::apply(const config::Loaded<Settings>& next) {
  daemon_.log().set_level(next.settings.log.level);
  loaded_.settings.log.level = next.settings.log.level;
  loaded_.sources = next.sources;
  if (!same_pools(loaded_.settings, next.settings)) return;
  loaded_.settings.pools = next.settings.pools;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    pools_[pool].apply(next.settings.pools[pool]);
    publish(pool);
  }
  engine_->review_sessions();
  warn_of_few_source_ports(daemon_.log(), pools_, loaded_.settings.max_sessions);
  resolver_.start();
}

}  // namespace ravelin::redirector
