#include "daemon/control.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "admin/pages.h"
#include "relay/clock.h"

namespace ravelin::daemon {
namespace {

using relay::HandOverCause;

constexpr std::array<std::string_view, 7> kCauses{"start", "upgrade", "kill", "crash", "exit", "keeper", "reload"};

admin::Response answer(const Control::Outcome& outcome) {
  nlohmann::json body = to_json(outcome.revision);
  body["outcome"] = outcome.outcome;
  if (!outcome.error.empty()) body["error"] = outcome.error;
  auto response = admin::json_response(body);
  response.status = outcome.status;
  return response;
}

// False: the parameter is there and is no duration.
bool read_duration(const admin::Request& request, std::string_view name, std::optional<sys::Duration>& out) {
  const auto text = request.target.parameter(name);
  if (!text) return true;
  const auto parsed = sys::parse_duration(*text);
  if (parsed) out = *parsed;
  return parsed.has_value();
}

}  // namespace

Control::Control(sys::Log& log, relay::Engine& engine, relay::KeeperLink* keeper, std::string version, Actions actions)
    : log_(log), engine_(engine), keeper_(keeper), version_(std::move(version)), actions_(std::move(actions)) {}

void Control::add_pages(admin::AdminServer& server) {
  server.route("GET", "/worker", [this](const admin::Request&) { return worker_page(); });
  server.route("GET", "/drain", [this](const admin::Request&) { return drain_page(); });
  server.route("POST", "/reload", [this](const admin::Request& request, admin::Reply reply) {
    if (request.target.parameter("dry_run")) return dry_run(std::move(reply));
    reply.send(answer(reload()));
  });
  server.route("POST", "/upgrade", [this](const admin::Request&) { return answer(upgrade()); });
  server.route("POST", "/drain",
               [this](const admin::Request& request, admin::Reply reply) { answer_drain(request, std::move(reply)); });
  server.route("POST", "/kill", [this](const admin::Request& request, admin::Reply reply) {
    const std::string id(request.target.parameter("id").value_or(""));
    const auto waiting = std::make_shared<admin::Reply>(std::move(reply));
    engine_.kill(id, [waiting, id](bool found) {
      waiting->send(found ? admin::json_response({{"killed", id}})
                          : admin::json_error(404, "there is no such session"));
    });
  });
}

Control::Outcome Control::reload() {
  if (actions_.is_draining()) return refuse_reload({}, "the program is draining");
  if (pending_ != 0) return refuse_reload({}, "another worker is being started already");
  Outcome outcome{.outcome = "applied", .revision = actions_.revise()};
  Revision& revision = outcome.revision;
  if (!revision.refusal.empty()) return refuse_reload(std::move(outcome), revision.refusal);
  // Without a keeper nobody could take over.
  if (keeper_ == nullptr) revision.exchange(Means::hand_over, Means::restart);
  const auto by_hand_over = revision.changes(Means::hand_over);
  if (!by_hand_over.empty()) {
    const auto opened = engine_.open_ahead(revision.listeners);
    if (!opened) return refuse_reload(std::move(outcome), opened.error().text());
    log_.line(sys::LogLevel::info, "reload_by_hand_over").field("settings", paths_of(by_hand_over));
    return ask(HandOverCause::reload, *opened, std::move(outcome));
  }
  waiting_ = revision.changes(Means::restart);
  revision.apply();
  log_.line(sys::LogLevel::info, "reloaded")
      .field("changes", revision.steps.size())
      .field("applied", paths_of(revision.changes(Means::in_place)));
  if (!waiting_.empty()) {
    log_.line(sys::LogLevel::warning, "restart_needed")
        .field("changes", waiting_.size())
        .field("settings", paths_of(waiting_));
  }
  return outcome;
}

std::vector<config::Change> Control::waiting() const {
  std::vector<config::Change> all = waiting_;
  for (const auto& each : engine_.overruled()) {
    all.push_back({.path = std::string(each.setting),
                   .before = std::to_string(each.in_force),
                   .after = std::to_string(each.wanted)});
  }
  return all;
}

Control::Outcome Control::refuse_reload(Outcome outcome, std::string error) {
  log_.line(sys::LogLevel::error, "reload_refused").field("error", error).field("hint", "the settings in force stay");
  outcome.status = 409;
  outcome.outcome = "refused";
  outcome.error = std::move(error);
  outcome.revision.steps.clear();
  return outcome;
}

Control::Outcome Control::upgrade() {
  Outcome outcome;
  if (keeper_ != nullptr) return ask(HandOverCause::upgrade, 0, std::move(outcome));
  return {.status = 409, .outcome = "refused", .error = "it runs without a keeper, which could start another worker"};
}

Control::Outcome Control::ask(HandOverCause cause, std::uint32_t ahead, Outcome outcome) {
  refusal_.clear();
  pending_ = relay::wish(cause);
  if (auto asked = keeper_->ask_replacement(cause, ahead); !asked) refused(pending_, asked.error().text());
  outcome.status = pending_ != 0 ? 202 : 409;
  outcome.outcome = pending_ != 0 ? "handing_over" : "refused";
  outcome.error = refusal_;
  return outcome;
}

void Control::refused(std::uint32_t wishes, const std::string& why) {
  if ((wishes & pending_) == 0) return;  // of somebody else's wish
  pending_ = 0;
  refusal_ = why;
  engine_.close_ahead();
}

// Listeners are told by address, so a renamed one is no removed one.
void Control::dry_run(admin::Reply reply) {
  auto revision = std::make_shared<Revision>(actions_.revise());
  const auto waiting = std::make_shared<admin::Reply>(std::move(reply));
  if (!revision->refusal.empty()) {
    Outcome outcome{.status = 409, .outcome = "refused", .error = revision->refusal};
    return waiting->send(answer(outcome));
  }
  const auto counts = std::make_shared<std::map<std::uint16_t, std::uint64_t>>();
  engine_.for_each_session(
      [counts, revision](const relay::SessionView& session) {
        ++(*counts)[session.record.listener];
        const auto place = revision->touches ? revision->touches(session) : std::nullopt;
        if (place) ++revision->touched[*place].sessions;
      },
      [this, revision, counts, waiting] {
        for (const auto& removed : engine_.listeners_missing(revision->listeners)) {
          revision->touched.push_back({.what = "listener " + engine_.listener_name(removed),
                                       .sessions = (*counts)[removed],
                                       .fate = "go on until they end"});
        }
        waiting->send(answer({.outcome = "dry_run", .revision = *revision}));
      });
}

void Control::answer_drain(const admin::Request& request, admin::Reply reply) {
  Drain drain;
  if (!read_duration(request, "for", drain.timeout) || !read_duration(request, "spread", drain.spread)) {
    return reply.send(admin::json_error(400, "expected durations such as 30m"));
  }
  if (actions_.is_draining()) return reply.send(admin::json_error(409, "it is draining already"));
  actions_.drain(drain);
  reply.send(drain_page());
}

admin::Response Control::drain_page() const {
  const relay::DrainRecord& record = engine_.drain_record();
  const std::int64_t now = relay::monotonic_ms();
  nlohmann::json page{{"draining", actions_.is_draining()}, {"sessions", engine_.sessions()}};
  if (record.since_ms != 0) page["since_ms"] = now - record.since_ms;
  if (record.over_ms != 0) {
    page["closes_in_ms"] = std::max<std::int64_t>(0, record.close_from_ms - now);
    page["over_in_ms"] = std::max<std::int64_t>(0, record.over_ms - now);
  }
  return admin::json_response(page);
}

admin::Response Control::worker_page() const {
  const auto cause = static_cast<std::size_t>(engine_.cause());
  return admin::json_response({{"pid", ::getpid()},
                               {"version", version_},
                               {"by", cause < kCauses.size() ? kCauses[cause] : "unknown"},
                               {"sessions", engine_.sessions()},
                               {"pending", pending_ != 0},
                               {"refusal", refusal_}});
}

}  // namespace ravelin::daemon
