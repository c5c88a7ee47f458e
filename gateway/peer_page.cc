#include "gateway/peer_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

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
  if (!inner) return admin::json_error(400, "expected ?inner=ADDRESS, the peer that the server sees");
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
