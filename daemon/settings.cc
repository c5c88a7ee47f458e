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

relay::EngineSettings engine_settings(const DaemonSettings& settings) {
  relay::EngineSettings engine;
  engine.loops = settings.loops;
  engine.max_sessions = settings.max_sessions;
  engine.max_pipes = settings.pipes.most;
  engine.pipe_size = settings.pipes.size;
  return engine;
}

relay::ListenerOptions named(relay::ListenerOptions listener) {
  if (listener.name.empty()) listener.name = listener.address.text();
  return listener;
}

}  // namespace ravelin::daemon
