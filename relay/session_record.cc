#include "relay/session_record.h"

#include <fmt/format.h>

namespace ravelin::relay {
namespace {

using namespace std::string_view_literals;

constexpr std::array kReasonNames{"none"sv,
                                  "finished"sv,
                                  "peer_reset"sv,
                                  "peer_unreachable"sv,
                                  "silent"sv,
                                  "no_first_byte"sv,
                                  "idle"sv,
                                  "half_closed"sv,
                                  "no_origin"sv,
                                  "connect_refused"sv,
                                  "connect_timeout"sv,
                                  "connect_unreachable"sv,
                                  "no_source_port"sv,
                                  "no_descriptors"sv,
                                  "header_invalid"sv,
                                  "header_missing"sv,
                                  "header_refused"sv,
                                  "drained"sv,
                                  "shutdown"sv,
                                  "internal"sv,
                                  "process_died"sv,
                                  "poisonous"sv,
                                  "origin_sessions"sv,
                                  "origin_removed"sv,
                                  "listener_removed"sv,
                                  "killed"sv};
static_assert(kReasonNames.size() == static_cast<std::size_t>(Reason::kCount));
constexpr std::array<std::string_view, 4> kEndSideNames{"none", "client", "origin", "self"};
constexpr std::array<std::string_view, 4> kEndKindNames{"none", "fin", "reset", "timeout"};

static_assert(kReasonNames.back() == "killed");

// The value may come from a table that another version wrote.
template <std::size_t N, class T>
std::string_view lookup(const std::array<std::string_view, N>& names, T value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view name(Reason reason) {
  return lookup(kReasonNames, reason);
}
std::string_view name(EndSide side) {
  return lookup(kEndSideNames, side);
}
std::string_view name(EndKind kind) {
  return lookup(kEndKindNames, kind);
}

std::string SessionId::text() const {
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

}  // namespace ravelin::relay
