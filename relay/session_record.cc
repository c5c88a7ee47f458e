#include "relay/session_record.h"

#include <fmt/format.h>

namespace ravelin::relay {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Reason::kCount)> kReasonNames{"none",
                                                                                              "finished",
                                                                                              "peer_reset",
                                                                                              "peer_unreachable",
                                                                                              "silent",
                                                                                              "no_first_byte",
                                                                                              "idle",
                                                                                              "half_closed",
                                                                                              "no_origin",
                                                                                              "connect_refused",
                                                                                              "connect_timeout",
                                                                                              "connect_unreachable",
                                                                                              "no_source_port",
                                                                                              "no_descriptors",
                                                                                              "header_invalid",
                                                                                              "header_missing",
                                                                                              "header_refused",
                                                                                              "drained",
                                                                                              "shutdown",
                                                                                              "internal",
                                                                                              "process_died",
                                                                                              "poisonous",
                                                                                              "origin_sessions",
                                                                                              "origin_removed",
                                                                                              "listener_removed",
                                                                                              "killed"};
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
