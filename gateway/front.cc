#include "gateway/front.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "daemon/reload.h"
#include "gateway/gateway_metrics.h"
#include "gateway/peer_page.h"

namespace ravelin::gateway {
namespace {

// What of each listener is asked anew for every connection, and so can change while the engine runs.
constexpr std::array<std::string_view, 3> kApplied{".policy", ".trusted_edges", ".untrusted"};

bool is_rule(const config::Change& change) {
  const auto ends = [&](std::string_view key) {
    const auto at = change.path.rfind(key);
    return at != std::string::npos && (at + key.size() == change.path.size() || change.path[at + key.size()] == '[');
  };
  return change.path.starts_with("listeners[") && std::ranges::any_of(kApplied, ends);
}

// Rules can be exchanged only between listeners that are the same ones.
bool same_listeners(const Settings& a, const Settings& b) {
  return std::ranges::equal(a.listeners, b.listeners, [](const ListenerSettings& one, const ListenerSettings& other) {
    return one.address == other.address && one.name == other.name;
  });
}

void describe(nlohmann::json& out, relay::SessionView session) {
  const GatewaySession& kept = gateway_session(session);
  out["measured"] = session.record.client.text();
  out["claimed"] = kept.has_claim() ? nlohmann::json(kept.claimed.text()) : nlohmann::json(nullptr);
  out["claim_trusted"] = kept.claim_trusted != 0;
  out["edge"] = kept.edge.view();
  out["edge_session"] = printable(kept.edge_session.view());
  out["inner"] = kept.inner.family != AF_UNSPEC ? kept.inner.text() : "";
}

}  // namespace

Front::Front(daemon::Daemon& daemon, config::Loaded<Settings> loaded)
    : daemon_(daemon),
      loaded_(std::move(loaded)),
      facts_(std::make_shared<const GatewayFacts>(facts_of(loaded_.settings))) {
  daemon_.admin().route("GET", "/peer", [this](const admin::Request& request) { return peer_page(peers_, request); });
}

daemon::Plan Front::plan() {
  daemon::Plan plan{.engine = daemon::engine_settings(loaded_.settings)};
  add_to_engine(plan.engine, loaded_.settings);
  plan.make_policy = [this](relay::Engine& engine, unsigned loop) {
    return std::make_unique<GatewayPolicy>(facts_, peers_, engine.table().counters(loop), daemon_.log());
  };
  plan.started = [this](relay::Engine& engine) {
    engine_ = &engine;
    add_gateway_metrics(
        daemon_.metrics(), [&engine](unsigned counter) { return engine.count(counter); }, peers_);
    log_untrusted_doors(facts_->doors, daemon_.log());
    say_held_back_.start(sys::LogBudget::kSayEvery, sys::LogBudget::kSayEvery);
  };
  plan.config_text = [this] { return config::print(loaded_, schema_); };
  plan.revise = [this] { return revise(); };
  plan.describe_session = describe;
  return plan;
}

void Front::say_held_back() {
  engine_->for_each_policy([](relay::SessionPolicy& policy) { static_cast<GatewayPolicy&>(policy).say_held_back(); });
}

daemon::Revision Front::revise() {
  const auto means = [this](const config::Change& change, const Settings& next) {
    const bool same = same_listeners(loaded_.settings, next);
    const bool in_place = change.path == "log.level" || (same && is_rule(change));
    return in_place ? daemon::Means::in_place : daemon::Means::hand_over;
  };
  return daemon::revision<Settings>(loaded_, schema_, means, [this](const auto& next) { apply(next); });
}

void Front::apply(const config::Loaded<Settings>& next) {
  daemon_.log().set_level(next.settings.log.level);
  loaded_.settings.log.level = next.settings.log.level;
  if (same_listeners(loaded_.settings, next.settings)) apply_rules(next.settings);
}

void Front::apply_rules(const Settings& settings) {
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    ListenerSettings& listener = loaded_.settings.listeners[i];
    listener.policy = settings.listeners[i].policy;
    listener.trusted_edges = settings.listeners[i].trusted_edges;
    listener.untrusted = settings.listeners[i].untrusted;
  }
  facts_ = std::make_shared<const GatewayFacts>(facts_of(loaded_.settings));
  log_untrusted_doors(facts_->doors, daemon_.log());
  engine_->for_each_policy(
      [facts = facts_](relay::SessionPolicy& policy) { static_cast<GatewayPolicy&>(policy).replace(facts); });
}

}  // namespace ravelin::gateway
