// What both daemons are told beside their own: log, admin, the engine's part. Their settings derive from these structs,
// so that in the file everything stands side by side.
//
//   struct Listener : relay::ListenerOptions { ... };
//   struct Settings : daemon::DaemonSettings { std::vector<Listener> listeners; ... };
//   config::Schema<Settings> schema;
//   schema.list("listeners", &Settings::listeners, listener_schema);
//   daemon::add_daemon_settings(schema);
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "config/log_settings.h"
#include "config/schema.h"
#include "relay/settings.h"
#include "sys/address.h"

namespace ravelin::relay {

constexpr auto names_of(config::EnumOf<AtLimit>) {
  using enum AtLimit;
  return std::to_array<config::Named<AtLimit>>(
      {{"reset", reset}, {"close", close}, {"leave_in_backlog", leave_in_backlog}});
}

}  // namespace ravelin::relay

namespace ravelin::daemon {

struct PipeSettings {
  std::uint32_t most = relay::EngineSettings{}.max_pipes;
  sys::ByteCount size = relay::EngineSettings{}.pipe_size;
};

struct DaemonSettings {
  config::LogSettings log;
  std::vector<sys::Endpoint> admin;  // empty: a Unix socket in the runtime directory, if there is one
  unsigned loops = relay::EngineSettings{}.loops;
  std::uint32_t max_sessions = relay::EngineSettings{}.max_sessions;
  relay::AtLimit at_max_sessions = relay::EngineSettings{}.at_max_sessions;
  PipeSettings pipes;
  sys::Duration drain_timeout{std::chrono::minutes(1)};
  sys::Duration drain_spread{0};
  sys::Duration drain_lead{0};
  bool keeper = true;
};

[[nodiscard]] config::Schema<PipeSettings> pipe_schema();
[[nodiscard]] config::Schema<relay::Timeouts> timeout_schema();
[[nodiscard]] config::Schema<relay::SocketOptions> socket_schema();
[[nodiscard]] config::Schema<relay::ListenerLimits> limit_schema();

// Who may read the pages is decided by a file's mode or by being on this machine, by nothing else.
void check_admin(const DaemonSettings& settings, config::Report& report);

template <std::derived_from<DaemonSettings> T>
void add_daemon_settings(config::Schema<T>& schema) {
  // A member of the base as one of T.
  const auto of = []<class V>(V DaemonSettings::*member) { return static_cast<V T::*>(member); };
  schema
      .option(
          "admin", of(&DaemonSettings::admin),
          {.help = "where operators and scrapers connect, a Unix socket or TCP on loopback; without any, a Unix socket "
                   "in $RUNTIME_DIRECTORY or /run/ravelin, if that can be had",
           .flag = "--admin"})
      .section("log", of(&DaemonSettings::log), config::log_schema(), {.help = "The log, on stderr"})
      .option("loops", of(&DaemonSettings::loops),
              {.help = "threads that move bytes; 0 is one for each processor", .flag = "--loops", .most = 256U})
      .option("max_sessions", of(&DaemonSettings::max_sessions),
              {.help = "sessions at once; 0 is what the limit of descriptors allows, a million at most",
               .most = 4'000'000U})
      .option("at_max_sessions", of(&DaemonSettings::at_max_sessions),
              {.help = "what becomes of a connection beyond max_sessions: it waits in the kernel's queue, or is ended"})
      .section("pipes", of(&DaemonSettings::pipes), pipe_schema(), {.help = "Kernel pipes that bytes pass through"})
      .option(
          "drain_timeout", of(&DaemonSettings::drain_timeout),
          {.help =
               "how long sessions may go on once a drain has begun (SIGTERM, ravelinctl drain); 0 is until they end"})
      .option(
          "drain_spread", of(&DaemonSettings::drain_spread),
          {.help = "the last part of drain_timeout, over which the sessions that are left are closed, each at a "
                   "moment of its own, so that their clients do not come back all at once; 0 closes all at its end"})
      .option(
          "drain_lead", of(&DaemonSettings::drain_lead),
          {.help = "how long listeners stay open in a drain while /readyz fails already, for balancers that ask it"})
      .option("keeper", of(&DaemonSettings::keeper),
              {.help = "run under a keeper process, so that sessions outlive crashes and upgrades (SIGUSR2) of the one "
                       "that works; false is for debuggers",
               .flag = "--keeper"})
      .check([](const T& settings, config::Report& report) { check_admin(settings, report); });
}

// The settings that every listener has.
template <std::derived_from<relay::ListenerOptions> T>
void add_listener_settings(config::Schema<T>& schema) {
  const auto of = []<class V>(V relay::ListenerOptions::*member) { return static_cast<V T::*>(member); };
  schema
      .option("address", of(&relay::ListenerOptions::address),
              {.help = "where clients connect", .flag = "--listen", .required = true})
      .option("name", of(&relay::ListenerOptions::name),
              {.help = "the listener's name in logs and metrics; without one, its address"})
      .option("wait_for_client", of(&relay::ListenerOptions::wait_for_client),
              {.help = "connect to the origin only when the client has sent a byte; false for protocols in which the "
                       "server speaks first"})
      .option("backlog", of(&relay::ListenerOptions::backlog),
              {.help = "connections that may wait to be accepted; the kernel caps it at net.core.somaxconn",
               .least = 1,
               .most = 1'000'000})
      .section("timeouts", of(&relay::ListenerOptions::timeouts), timeout_schema(),
               {.help = "How long a session may wait for what; 0 is for ever"})
      .section("limits", of(&relay::ListenerOptions::limits), limit_schema(),
               {.help = "How many sessions, and how fast new ones, are let in; 0 is no limit"})
      .section("client_socket", of(&relay::ListenerOptions::client), socket_schema(),
               {.help = "TCP options of the client's connection"})
      .section("origin_socket", of(&relay::ListenerOptions::origin), socket_schema(),
               {.help = "TCP options of the connection to the origin"});
}

// The engine's settings but for its listeners and the policy's extension.
[[nodiscard]] relay::EngineSettings engine_settings(const DaemonSettings& settings);

// The listener as the engine takes it, with a name in any case.
[[nodiscard]] relay::ListenerOptions named(relay::ListenerOptions listener);

}  // namespace ravelin::daemon
