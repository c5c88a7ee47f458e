#include "gateway/peer_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "admin/pages.h"
#include "bridge/addresses.h"
#include "gateway/session.h"

namespace ravelin::gateway {
namespace {

using bridge::from_ppv2;

nlohmann::json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

// The forms that find_by_text() reads, gRPC's by their scheme.
bool is_peer_text(std::string_view text) {
  constexpr std::array<std::string_view, 4> kSchemes{"ipv4:", "ipv6:", "unix:", "unix-abstract:"};
  return ppv2::Address::parse(text) ||
         std::ranges::any_of(kSchemes, [&](std::string_view scheme) { return text.starts_with(scheme); });
}

std::string time_text(std::int64_t wall_us) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(wall_us)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     rest.count());
}

}  // namespace

admin::Response peer_page(const ppv2::PeerMap& peers, const admin::Request& request) {
  const auto inner = request.target.parameter("inner");
  if (!inner || !is_peer_text(*inner)) {
    return admin::json_error(400,
                             "expected the peer that the server sees: /peer?inner=127.0.0.1:41234, [::1]:41234, "
                             "unix:@0001f, or as gRPC writes it, ipv4:127.0.0.1:41234");
  }
  const auto peer = find_by_text(peers, *inner);
  if (!peer) return admin::json_error(404, "no connection from there came through this gateway");
  const auto claimed = from_ppv2(peer->claimed_source);
  return admin::json_response(
      {{"inner", *inner},
       {"measured", from_ppv2(peer->peer).text()},
       {"claimed", peer->has_claim() ? nlohmann::json(claimed.text()) : nlohmann::json(nullptr)},
       {"claim_trusted", peer->claim_trusted},
       {"edge", text_or_null(peer->edge())},
       {"edge_session", text_or_null(printable(peer->unique_id()))},
       {"since", time_text(peer->accepted_at)}});
}

}  // namespace ravelin::gateway
