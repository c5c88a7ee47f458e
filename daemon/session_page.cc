#include "daemon/session_page.h"

#include <array>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "admin/pages.h"
#include "relay/clock.h"

namespace ravelin::daemon {
namespace {

constexpr std::size_t kShown = 1000;
constexpr std::array<std::string_view, 5> kPhases{"free", "waiting", "connecting", "relaying", "closing"};

struct Copy {
  relay::SessionRecord record;
  std::vector<std::byte> extension;
};

// Filled by one loop after the other, read when they are done.
struct Collection {
  explicit Collection(admin::Reply to) : reply(std::move(to)) {}

  void add(const relay::SessionView& session) {
    if (copies.size() == limit) return;
    copies.push_back({session.record, {session.extension.begin(), session.extension.end()}});
  }

  std::vector<Copy> copies;
  std::size_t limit = kShown;
  admin::Reply reply;
};

nlohmann::json basics(const relay::SessionRecord& record, const relay::Engine& engine) {
  const std::int64_t now = relay::monotonic_ms();
  const auto phase = static_cast<std::size_t>(record.phase);
  return {{"id", record.id.text()},
          {"phase", phase < kPhases.size() ? kPhases[phase] : "unknown"},
          {"listener", engine.listener_name(record.listener)},
          {"client", record.client.text()},
          {"local", record.local.text()},
          {"origin", record.origin_peer.text()},
          {"attempts", record.attempts},
          {"bytes_up", record.up.moved},
          {"bytes_down", record.down.moved},
          {"age_ms", now - record.accepted_mono_ms},
          {"quiet_ms", now - record.last_activity_ms}};
}

bool read_limit(const admin::Request& request, std::size_t& limit) {
  const auto text = request.target.parameter("limit");
  if (!text) return true;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  return error == std::errc{} && end == text->data() + text->size();
}

}  // namespace

void add_session_page(admin::AdminServer& server, relay::Engine& engine, DescribeSession describe) {
  struct Page {
    relay::Engine& engine;
    DescribeSession describe;
  };
  const auto page = std::make_shared<const Page>(Page{engine, std::move(describe)});
  server.route("GET", "/sessions", [page](const admin::Request& request, admin::Reply reply) {
    auto all = std::make_shared<Collection>(std::move(reply));
    if (!read_limit(request, all->limit)) return all->reply.send(admin::json_error(400, "limit is not a number"));
    const auto answer = [page, all] {
      auto sessions = nlohmann::json::array();
      for (Copy& copy : all->copies) {
        sessions.push_back(basics(copy.record, page->engine));
        if (page->describe) page->describe(sessions.back(), {copy.record, copy.extension});
      }
      all->reply.send(admin::json_response({{"total", page->engine.sessions()}, {"sessions", std::move(sessions)}}));
    };
    page->engine.for_each_session([all](const relay::SessionView& session) { all->add(session); }, answer);
  });
}

}  // namespace ravelin::daemon
