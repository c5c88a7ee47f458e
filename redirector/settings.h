// What the redirector is told: its own part beside what every daemon is told. Plain values, made once from flags and
// file, replaced when the file is read again.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/schema.h"
#include "daemon/settings.h"
#include "redirector/candidate.h"
#include "redirector/header.h"
#include "relay/settings.h"
#include "sys/address.h"
#include "sys/source_address.h"
#include "sys/units.h"

namespace ravelin::redirector {

constexpr auto names_of(config::EnumOf<Balancing>) {
  using enum Balancing;
  return std::to_array<config::Named<Balancing>>(
      {{"round_robin", round_robin}, {"least_sessions", least_sessions}, {"first_available", first_available}});
}

struct OriginSettings {
  sys::Endpoint address;
  std::uint32_t max_sessions = 0;
};

struct PoolSettings {
  std::string name = "default";
  Balancing balancing = Balancing::round_robin;
  unsigned connect_attempts = 3;
  relay::AtLimit at_max_sessions = relay::AtLimit::reset;
  std::optional<sys::Duration> close_removed_after;  // nothing: never
  std::vector<sys::SourceAddress> source_addresses;
  sys::Duration resolve_interval = std::chrono::seconds(30);
  sys::Duration resolve_backoff = std::chrono::seconds(1);
  std::vector<OriginSettings> origins;
};

struct ListenerSettings : relay::ListenerOptions {
  std::string pool;  // empty: the first
  bool proxy_header = true;
};

struct Settings : daemon::DaemonSettings {
  std::string edge_name;  // empty: the machine's
  std::vector<ListenerSettings> listeners;
  std::vector<PoolSettings> pools;
  HeaderSettings header;
};

[[nodiscard]] config::Schema<Settings> settings_schema();

// The name that this edge goes by.
[[nodiscard]] std::string edge_name_of(const Settings& settings);
// The place of a listener's pool in `pools`.
[[nodiscard]] std::size_t pool_of(const Settings& settings, const ListenerSettings& listener);

}  // namespace ravelin::redirector
