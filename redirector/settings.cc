#include "redirector/settings.h"

#include <fmt/format.h>
#include <ppv2/ravelin.h>
#include <unistd.h>

#include <algorithm>

#include "sys/own_endpoint.h"

namespace ravelin::redirector {
namespace {

config::Schema<OriginSettings> origin_schema() {
  config::Schema<OriginSettings> origin;
  origin
      .option("address", &OriginSettings::address,
              {.help = "HOST:PORT or unix:PATH; a name stands for all of its addresses and is resolved again and again",
               .flag = "--origin",
               .required = true})
      .option("max_sessions", &OriginSettings::max_sessions,
              {.help = "sessions at once at each address of the origin, beyond which the next origin is tried; 0 is no "
                       "limit",
               .most = 4'000'000U});
  return origin;
}

config::Schema<PoolSettings> pool_schema() {
  config::Schema<PoolSettings> pool;
  pool.option("name", &PoolSettings::name, {.help = "the pool's name in listeners, logs and metrics"})
      .option(
          "balancing", &PoolSettings::balancing,
          {.help = "which address gets the next session: each in turn, the one with the fewest sessions, or the first "
                   "that does not fail"})
      .option("connect_attempts", &PoolSettings::connect_attempts,
              {.help = "addresses tried for a session, each at most once, before the client is reset",
               .least = 1U,
               .most = 64U})
      .option("at_max_sessions", &PoolSettings::at_max_sessions,
              {.help = "what becomes of a session when every origin that could be tried has its max_sessions"})
      .option("close_removed_after", &PoolSettings::close_removed_after,
              {.help = "when an origin is taken out of the pool, its sessions are ended so much later; 0 is at once. "
                       "Without it they go on until they end",
               .most = std::chrono::hours(24 * 365)})
      .option("source_addresses", &PoolSettings::source_addresses,
              {.help = "local addresses that connections to the origins come from, in turn; each has its own ports, so "
                       "several carry more sessions to one origin. Without any, the system's choice"})
      .option("resolve_interval", &PoolSettings::resolve_interval,
              {.help = "how often names are resolved, give or take a fifth",
               .least = std::chrono::seconds(1),
               .most = std::chrono::hours(24)})
      .option("resolve_backoff", &PoolSettings::resolve_backoff,
              {.help = "when a name that failed is tried again; doubles with each failure up to resolve_interval",
               .least = std::chrono::milliseconds(100),
               .most = std::chrono::hours(1)})
      .list("origins", &PoolSettings::origins, origin_schema(), {.help = "Where sessions go", .required = true});
  return pool;
}

config::Schema<ListenerSettings> listener_schema() {
  config::Schema<ListenerSettings> listener;
  daemon::add_listener_settings(listener);
  listener
      .option("pool", &ListenerSettings::pool,
              {.help = "the name of the pool that sessions go to; without one, the first pool"})
      .option("proxy_header", &ListenerSettings::proxy_header,
              {.help = "put a PROXY protocol v2 header with the client's address in front of each session"});
  return listener;
}

config::Schema<HeaderSettings> header_schema() {
  config::Schema<HeaderSettings> header;
  header
      .option("unique_id", &HeaderSettings::unique_id,
              {.help = "send the session's id, as it stands in the log (UNIQUE_ID)"})
      .option("edge_name", &HeaderSettings::edge_name,
              {.help = fmt::format("send this edge's name (custom type 0x{:X})", ppv2::kEdgeNameTlv)})
      .option("crc32c", &HeaderSettings::crc32c, {.help = "send a checksum of the header (CRC32C)"});
  return header;
}

template <class List, class Name>
void check_unique(const List& list, std::string_view path, Name name, config::Report& report) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool taken = std::any_of(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const auto& earlier) { return name(earlier) == name(list[i]); });
    if (!taken) continue;
    report.at(fmt::format("{}[{}].name", path, i), fmt::format("'{}' is taken, expected another name", name(list[i])));
  }
}

void check_origins(const PoolSettings& pool, config::Report& report) {
  if (pool.at_max_sessions == relay::AtLimit::leave_in_backlog) {
    report.at("at_max_sessions",
              "leave_in_backlog comes too late for a session that has been accepted already, expected reset or close");
  }
  if (pool.origins.size() > kMostCandidates) {
    report.at("origins",
              fmt::format("{} origins are too many, expected at most {}", pool.origins.size(), kMostCandidates));
  }
  for (std::size_t i = 0; i < pool.origins.size(); ++i) {
    const sys::Endpoint& address = pool.origins[i].address;
    const std::string path = fmt::format("origins[{}].address", i);
    if (!address.is_unix() && (address.host.empty() || address.port == 0)) {
      report.at(path, fmt::format("'{}' names no place to connect to, expected a host and a port", address.text()));
    }
    const auto same = [&](const OriginSettings& earlier) { return earlier.address == address; };
    if (std::any_of(pool.origins.begin(), pool.origins.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      report.at(path, fmt::format("'{}' stands in this pool already, expected each origin once", address.text()));
    }
  }
}

// Each session would come back as another one, until nothing is left to make them of.
void check_own(const Settings& settings, const ListenerSettings& listener, config::Report& report) {
  for (std::size_t pool = 0; pool < settings.pools.size(); ++pool) {
    const auto& origins = settings.pools[pool].origins;
    for (std::size_t i = 0; i < origins.size(); ++i) {
      if (!sys::leads_to(origins[i].address, listener.address)) continue;
      report.at(fmt::format("pools[{}].origins[{}].address", pool, i),
                fmt::format("'{}' leads back to this program's own listener '{}', expected where the origin is",
                            origins[i].address.text(), listener.address.text()));
    }
  }
}

void check_settings(const Settings& settings, config::Report& report) {
  if (settings.edge_name.size() > ppv2::kEdgeNameTlvMost) {
    report.at("edge_name", fmt::format("{} bytes are too long, expected at most {}", settings.edge_name.size(),
                                       ppv2::kEdgeNameTlvMost));
  }
  check_unique(
      settings.listeners, "listeners", [](const auto& each) { return daemon::named(each).name; }, report);
  check_unique(
      settings.pools, "pools", [](const auto& each) { return each.name; }, report);
  for (const ListenerSettings& listener : settings.listeners) check_own(settings, listener, report);
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    const std::string& pool = settings.listeners[i].pool;
    if (pool_of(settings, settings.listeners[i]) < settings.pools.size()) continue;
    report.at(fmt::format("listeners[{}].pool", i),
              fmt::format("there is no pool '{}', expected the name of one", pool));
  }
}

}  // namespace

config::Schema<Settings> settings_schema() {
  config::Schema<Settings> schema;
  schema
      .option("edge_name", &Settings::edge_name,
              {.help = "what this edge calls itself in logs and headers; without one, the machine's name",
               .flag = "--edge-name"})
      .list("listeners", &Settings::listeners, listener_schema(), {.help = "Where clients connect", .required = true})
      .list("pools", &Settings::pools, pool_schema().check(check_origins),
            {.help = "Origins that stand in for each other", .required = true})
      .section("header", &Settings::header, header_schema(), {.help = "What the PROXY header says beside addresses"});
  daemon::add_daemon_settings(schema);
  schema.check(check_settings);
  return schema;
}

std::string edge_name_of(const Settings& settings) {
  if (!settings.edge_name.empty()) return settings.edge_name;
  std::array<char, ppv2::kEdgeNameTlvMost + 1> name{};  // as long as Linux lets a host name be
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "edge";
}

std::size_t pool_of(const Settings& settings, const ListenerSettings& listener) {
  if (listener.pool.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::find(settings.pools, listener.pool, &PoolSettings::name) -
                                  settings.pools.begin());
}

}  // namespace ravelin::redirector
