// A small program's settings with every kind of thing that a schema can hold.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/log_settings.h"

namespace sample {

using namespace ravelin;

enum class Policy { sniff, require, reject };

constexpr auto names_of(config::EnumOf<Policy>) {
  return std::to_array<config::Named<Policy>>(
      {{"sniff", Policy::sniff}, {"require", Policy::require}, {"reject", Policy::reject}});
}

struct Listener {
  sys::Endpoint address;
  std::string name;
  Policy policy = Policy::sniff;
  std::optional<sys::Duration> idle;
};

struct Origin {
  sys::Endpoint address;
  std::int16_t weight = 1;
};

struct Pool {
  std::string name = "default";
  std::vector<Origin> origins;
};

struct Limits {
  std::uint32_t sessions = 10'000;
  std::uint32_t low = 100;
  std::uint32_t high = 200;
  sys::ByteCount buffer{65536};
  sys::Duration connect{10'000};
};

struct Admin {
  sys::Endpoint address{.path = "/run/sample.sock"};
  bool metrics = true;
};

struct Settings {
  std::vector<Listener> listeners;
  std::vector<Pool> pools;
  Limits limits;
  std::optional<Admin> admin;
  std::vector<sys::Cidr> trusted;
  std::vector<std::uint16_t> ports{80, 443};
  std::string edge_name;
  bool header = true;
  config::LogSettings log;
};

inline config::Schema<Settings> schema() {
  using config::Report;
  config::Schema<Listener> listener;
  listener
      .option("address", &Listener::address, {.help = "where clients connect", .flag = "--listen", .required = true})
      .option("name", &Listener::name, {.help = "what the log calls it"})
      .option("policy", &Listener::policy, {.help = "what is done about headers"})
      .option("idle", &Listener::idle, {.help = "how long a session may be silent"});
  config::Schema<Origin> origin;
  origin
      .option("address", &Origin::address,
              {.help = "the origin's address", .flag = "--origin", .placeholder = "HOST:PORT", .required = true})
      .option("weight", &Origin::weight, {.help = "its share", .least = 1, .most = 100});
  config::Schema<Pool> pool;
  pool.option("name", &Pool::name, {.help = "what listeners call it"})
      .list("origins", &Pool::origins, origin, {.help = "where sessions go", .required = true});
  config::Schema<Limits> limits;
  limits
      .option("sessions", &Limits::sessions,
              {.help = "most sessions at once", .flag = "--sessions", .least = 1, .most = 1'000'000})
      .option("low", &Limits::low, {.help = "where pressure ends"})
      .option("high", &Limits::high, {.help = "where pressure starts"})
      .option("buffer", &Limits::buffer, {.help = "bytes a session", .least = sys::ByteCount{4096}})
      .option("connect", &Limits::connect, {.help = "how long connecting may take", .most = std::chrono::hours(1)})
      .check([](const Limits& value, Report& report) {
        if (value.low > value.high) report.at("low", "above 'high', expected at most that");
      });
  config::Schema<Admin> admin;
  admin.option("address", &Admin::address, {.help = "where the admin interface listens", .flag = "--admin"})
      .option("metrics", &Admin::metrics, {.help = "whether /metrics is served"});
  config::Schema<Settings> root;
  root.list("listeners", &Settings::listeners, listener, {.help = "listening sockets", .required = true})
      .list("pools", &Settings::pools, pool, {.help = "groups of origins"})
      .section("limits", &Settings::limits, limits, {.help = "what is too much"})
      .section("admin", &Settings::admin, admin, {.help = "the admin interface"})
      .option("trusted", &Settings::trusted, {.help = "whose headers count", .flag = "--trusted"})
      .option("ports", &Settings::ports, {.help = "ports that matter", .least = 1})
      .option("edge_name", &Settings::edge_name, {.help = "the name of this edge", .flag = "--edge-name"})
      .option("header", &Settings::header, {.help = "write a header", .flag = "--header"})
      .section("log", &Settings::log, config::log_schema())
      .flag("--policy", "listeners[*].policy")
      .check([](const Settings& value, Report& report) {
        for (std::size_t i = 1; i < value.listeners.size(); ++i) {
          if (value.listeners[i].address == value.listeners[0].address) {
            report.at("listeners[" + std::to_string(i) + "].address", "the same as the first one's, expected another");
          }
        }
      });
  return root;
}

// The errors of `yaml` as edge.yaml, one a line; empty if there are none.
inline std::string errors_of(std::string_view yaml) {
  const auto loaded = config::from_text(yaml, schema(), "edge.yaml");
  return loaded ? "" : config::text_of(loaded.error());
}

// A file that is right, for `more` to be put behind it.
inline std::string with_listener(const std::string& more) {
  return "listeners: [{address: ':443'}]\n" + more;
}

}  // namespace sample
