#include "gateway/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "sys/own_endpoint.h"

namespace ravelin::gateway {
namespace {

void check_listener(const ListenerSettings& listener, std::size_t index, std::vector<Misfit>& misfits) {
  if (listener.policy == ppv2::Policy::require && listener.trusted_edges.empty()) {
    misfits.push_back({fmt::format("listeners[{}].trusted_edges", index),
                       "policy require lets in trusted edges only and there are none, so every connection would be "
                       "refused; expected the address range of at least one edge (--trusted-edge)"});
  }
}

void check_inner(const FrontSettings& settings, std::vector<Misfit>& misfits) {
  const auto add = [&](std::string setting, std::string what) {
    misfits.push_back({std::move(setting), std::move(what)});
  };
  const std::string text = settings.inner.text();
  for (const ListenerSettings& listener : settings.listeners) {
    if (!sys::leads_to(settings.inner, listener.address)) continue;
    // Each session would come back as another one, until nothing is left to make them of.
    add("inner", fmt::format("'{}' leads back to the gateway's own listener '{}', expected where the server is", text,
                             listener.address.text()));
  }
  if (settings.inner.is_unix()) {
    if (!settings.inner_sources.empty()) {
      add("inner_sources", "a Unix socket has no source addresses, expected none beside an inner address of unix:PATH");
    }
    return;
  }
  const auto inner = settings.inner.literal();
  if (!inner || inner->port == 0) {
    return add(
        "inner",
        fmt::format("'{}' is not where a server can be, expected 127.0.0.1:PORT, [::1]:PORT or unix:PATH", text));
  }
  if (settings.inner_sources.empty() && !inner->is_loopback()) {
    add("inner", fmt::format("'{}' is not on this machine's loopback, expected inner_sources beside it: the addresses "
                             "that its connections come from",
                             text));
  }
  for (std::size_t i = 0; i < settings.inner_sources.size(); ++i) {
    if (settings.inner_sources[i].address.family == inner->family) continue;
    add(fmt::format("inner_sources[{}]", i),
        fmt::format("'{}' is of another family than the inner address '{}'", settings.inner_sources[i].text(), text));
  }
}

// A header is looked for even where the server speaks first, so the engine always waits; what is different is for how
// long, and that a header is then enough (see Door).
relay::ListenerOptions engine_listener(const ListenerSettings& settings) {
  relay::ListenerOptions listener = settings;
  listener.wait_for_client = true;
  const bool passes_silence = !settings.wait_for_client && settings.policy != ppv2::Policy::require;
  if (passes_silence) listener.timeouts.first_byte = settings.silence;
  if (listener.name.empty()) listener.name = listener.address.text();
  return listener;
}

}  // namespace

std::vector<Misfit> misfits_of(const FrontSettings& settings) {
  std::vector<Misfit> misfits;
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) check_listener(settings.listeners[i], i, misfits);
  check_inner(settings, misfits);
  if (settings.inner_sources.size() > ppv2::PeerMap::kMaxSpaces) {
    misfits.push_back({"inner_sources", fmt::format("there are {} of them, expected at most {}",
                                                    settings.inner_sources.size(), ppv2::PeerMap::kMaxSpaces)});
  }
  return misfits;
}

GatewayFacts facts_of(const FrontSettings& settings) {
  GatewayFacts facts{.inner = settings.inner, .inner_header = settings.inner_header};
  for (const ListenerSettings& listener : settings.listeners) {
    facts.doors.push_back({.name = engine_listener(listener).name,
                           .rules = {.policy = listener.policy, .untrusted = listener.untrusted},
                           .trusted_edges = listener.trusted_edges,
                           .wait_for_client = listener.wait_for_client});
  }
  for (const sys::SourceAddress& source : settings.inner_sources) facts.inner_sources.push_back(source.address);
  const auto inner = settings.inner.literal();
  if (inner && facts.inner_sources.empty()) {
    facts.inner_sources.push_back(*inner);
    facts.inner_sources.back().port = 0;
  }
  return facts;
}

void add_to_engine(relay::EngineSettings& engine, const FrontSettings& settings) {
  for (const ListenerSettings& listener : settings.listeners) engine.listeners.push_back(engine_listener(listener));
  engine.extension_bytes = sizeof(GatewaySession);
}

}  // namespace ravelin::gateway
