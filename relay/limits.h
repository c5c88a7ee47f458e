// The limits of a listener as they are configured, and what every limit of the program is called. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

namespace ravelin::relay {

// What becomes of a connection that is one too many.
enum class AtLimit : std::uint8_t {
  reset,             // RST
  close,             // FIN
  leave_in_backlog,  // it is not accepted yet; only where nobody has to know who it is
};

// Every limit that can end a session before it begins. The names, as logged and counted, stand in one table in
// limiter.cc.
enum class Limit : std::uint8_t {
  none,
  max_sessions,       // of the process
  listener_sessions,  // at once
  listener_rate,      // of new ones
  source_sessions,
  source_rate,
  origin_sessions,  // of every origin that could be tried
  kCount
};
[[nodiscard]] std::string_view name(Limit limit);

// Zero is no limit.
struct SessionLimit {
  std::uint32_t most = 0;
  AtLimit action = AtLimit::reset;
};

struct RateLimit {
  std::uint32_t a_second = 0;
  std::uint32_t burst = 0;  // at once after a silence; 0: as many as in a second
  AtLimit action = AtLimit::reset;

  [[nodiscard]] std::uint32_t most_at_once() const { return burst != 0 ? burst : a_second; }
};

// A source is what was measured: the peer's address, cut to a prefix. Never what a header claims.
struct SourceLimits {
  SessionLimit sessions{};
  RateLimit rate{};
  std::uint32_t ipv4_prefix = 32;
  std::uint32_t ipv6_prefix = 64;  // what one subscriber has
  std::uint32_t table = 65'536;    // sources that are told apart

  [[nodiscard]] bool any() const { return sessions.most != 0 || rate.a_second != 0; }
};

struct ListenerLimits {
  SessionLimit sessions{};
  RateLimit rate{};
  SourceLimits source{};

  [[nodiscard]] bool any() const { return sessions.most != 0 || rate.a_second != 0 || source.any(); }
};

}  // namespace ravelin::relay
