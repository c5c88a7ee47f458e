#include "daemon/settings.h"

namespace ravelin::daemon {
namespace {

constexpr sys::Duration kLongestKeepAlive = std::chrono::seconds(32'767);  // tcp(7): the kernel refuses more

}  // namespace

void check_admin(const DaemonSettings& settings, config::Report& report) {
  for (std::size_t i = 0; i < settings.admin.size(); ++i) {
    const sys::Endpoint& endpoint = settings.admin[i];
    if (endpoint.is_unix() || endpoint.literal().value_or(sys::SocketAddress{}).is_loopback()) continue;
    report.at(fmt::format("admin[{}]", i),
              fmt::format("'{}' is not on this machine's loopback, expected unix:PATH, 127.0.0.1:PORT or [::1]:PORT",
                          endpoint.text()));
  }
}

config::Schema<PipeSettings> pipe_schema() {
  config::Schema<PipeSettings> pipes;
  pipes
      .option("most", &PipeSettings::most,
              {.help = "pipes at once, over all loops; without a free one bytes are copied", .most = 100'000U})
      .option("size", &PipeSettings::size,
              {.help = "what one pipe holds; the kernel grants less to a user who has many",
               .least = sys::ByteCount{64 << 10},
               .most = sys::ByteCount{1 << 30}});
  return pipes;
}

config::Schema<relay::Timeouts> timeout_schema() {
  using relay::Timeouts;
  config::Schema<Timeouts> timeouts;
  timeouts
      .option("first_byte", &Timeouts::first_byte, {.help = "from the connection to what the client has to say first"})
      .option("connect", &Timeouts::connect, {.help = "one attempt to connect to an origin"})
      .option("half_closed", &Timeouts::half_closed,
              {.help = "after one side has ended its stream, without a byte from the other"})
      .option("idle", &Timeouts::idle, {.help = "without a byte in either direction"});
  return timeouts;
}

config::Schema<relay::SocketOptions> socket_schema() {
  using relay::SocketOptions;
  config::Schema<SocketOptions> socket;
  socket
      .option("keepalive_idle", &SocketOptions::keepalive_idle,
              {.help = "silence before the first keep-alive probe; 0 sends none", .most = kLongestKeepAlive})
      .option("keepalive_interval", &SocketOptions::keepalive_interval,
              {.help = "from one probe to the next", .least = std::chrono::seconds(1), .most = kLongestKeepAlive})
      .option("keepalive_probes", &SocketOptions::keepalive_probes,
              {.help = "probes without an answer that end the session", .least = 1U, .most = 127U})
      .option("user_timeout", &SocketOptions::user_timeout,
              {.help = "how long sent bytes may stay unacknowledged (TCP_USER_TIMEOUT); 0 is the system's",
               .most = std::chrono::hours(24)})
      .option("congestion_control", &SocketOptions::congestion_control,
              {.help = "the algorithm, such as cubic or bbr; without one, the system's"})
      .option("max_segment", &SocketOptions::max_segment,
              {.help = "the largest TCP segment, for paths that lose larger ones; 0 is what the path says",
               .most = 32'767U})
      .option("mark", &SocketOptions::mark, {.help = "for routing rules and firewalls (SO_MARK); 0 is none"})
      .option("receive_buffer", &SocketOptions::receive_buffer,
              {.help = "what the kernel keeps of unread bytes, not tuned any more; 0 lets it tune",
               .most = sys::ByteCount{1 << 30}})
      .option("send_buffer", &SocketOptions::send_buffer,
              {.help = "what the kernel keeps of unsent bytes, not tuned any more; 0 lets it tune",
               .most = sys::ByteCount{1 << 30}});
  return socket;
}

config::Schema<relay::SessionLimit> session_limit_schema() {
  using relay::SessionLimit;
  config::Schema<SessionLimit> limit;
  limit.option("most", &SessionLimit::most, {.help = "sessions at once", .most = 4'000'000U})
      .option("action", &SessionLimit::action, {.help = "what becomes of a connection beyond that"});
  return limit;
}

config::Schema<relay::RateLimit> rate_limit_schema() {
  using relay::RateLimit;
  config::Schema<RateLimit> limit;
  limit
      .option("per_second", &RateLimit::a_second,
              {.help = "new sessions a second, in the long run", .most = 1'000'000U})
      .option("burst", &RateLimit::burst,
              {.help = "new sessions at once after a silence; 0 is as many as in a second", .most = 1'000'000U})
      .option("action", &RateLimit::action, {.help = "what becomes of a connection beyond that"});
  return limit;
}

// Whose connection it is shows only when it has been accepted.
void check_source_limits(const relay::SourceLimits& limits, config::Report& report) {
  for (const auto& [action, path] :
       {std::pair(limits.sessions.action, "sessions.action"), std::pair(limits.rate.action, "rate.action")}) {
    if (action != relay::AtLimit::leave_in_backlog) continue;
    report.at(path,
              "leave_in_backlog cannot hold back one source, because the kernel's queue is of all of them; "
              "expected reset or close");
  }
}

config::Schema<relay::SourceLimits> source_limit_schema() {
  using relay::SourceLimits;
  config::Schema<SourceLimits> source;
  source.section("sessions", &SourceLimits::sessions, session_limit_schema(), {.help = "Sessions of one source"})
      .section("rate", &SourceLimits::rate, rate_limit_schema(), {.help = "New sessions of one source"})
      .option("ipv4_prefix", &SourceLimits::ipv4_prefix,
              {.help = "leading bits of an IPv4 address that make a source", .least = 1U, .most = 32U})
      .option("ipv6_prefix", &SourceLimits::ipv6_prefix,
              {.help = "leading bits of an IPv6 address that make a source", .least = 1U, .most = 128U})
      .option("table", &SourceLimits::table,
              {.help = "sources told apart, about 80 bytes each; in a full table one without sessions makes room, and "
                       "where none can, newcomers count together as one source",
               .least = 1U,
               .most = 4'000'000U})
      .check(check_source_limits);
  return source;
}

config::Schema<relay::ListenerLimits> limit_schema() {
  using relay::ListenerLimits;
  config::Schema<ListenerLimits> limits;
  limits.section("sessions", &ListenerLimits::sessions, session_limit_schema(), {.help = "Sessions of the listener"})
      .section("rate", &ListenerLimits::rate, rate_limit_schema(), {.help = "New sessions of the listener"})
      .section("source", &ListenerLimits::source, source_limit_schema(),
               {.help = "The same for each source: the measured address, cut to a prefix"});
  return limits;
}

relay::EngineSettings engine_settings(const DaemonSettings& settings) {
  relay::EngineSettings engine;
  engine.loops = settings.loops;
  engine.max_sessions = settings.max_sessions;
  engine.at_max_sessions = settings.at_max_sessions;
  engine.max_pipes = settings.pipes.most;
  engine.pipe_size = settings.pipes.size;
  return engine;
}

relay::ListenerOptions named(relay::ListenerOptions listener) {
  if (listener.name.empty()) listener.name = listener.address.text();
  return listener;
}

}  // namespace ravelin::daemon
