#include "daemon/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "admin/pages.h"
#include "daemon/engine_metrics.h"
#include "daemon/hint.h"
#include "daemon/notify.h"
#include "relay/clock.h"
#include "sys/descriptor.h"
#include "sys/signals.h"

namespace ravelin::daemon {
namespace {

// Fewer than this is no service but a riddle: better to say at the start what is missing.
constexpr std::uint32_t kLeastSessions = 8;

constexpr std::chrono::milliseconds kPreparation{500};

// How often a drain says who is left: ten times, within these.
constexpr sys::Duration kSayWhoAtLeast = std::chrono::seconds(1);
constexpr sys::Duration kSayWhoAtMost = std::chrono::minutes(1);

// Where systemd's RuntimeDirectory= is, or would be.
std::string default_admin_path(const std::string& program) {
  const char* given = std::getenv("RUNTIME_DIRECTORY");
  const std::string_view directories = given != nullptr ? given : "/run/ravelin";
  return std::string(directories.substr(0, directories.find(':'))) + "/" + program + ".sock";
}

sys::Result<void> check_descriptors(const relay::Engine& engine, std::uint32_t wanted) {
  if (engine.max_sessions() >= kLeastSessions || engine.max_sessions() == wanted) return {};
  return sys::fail(EMFILE, "the limit of {} descriptors leaves room for {} sessions, raise LimitNOFILE= or ulimit -n",
                   sys::raise_descriptor_limit(), engine.max_sessions());
}

}  // namespace

Daemon::Daemon(const config::Program& program, const DaemonSettings& settings,
               std::unique_ptr<relay::KeeperLink> keeper, std::vector<relay::Inheritance::Listener> passed)
    : program_(program),
      settings_(settings),
      log_(settings.log.format, settings.log.level),
      admin_(loop_, log_),
      lead_(loop_, [this] { engine_->drain([this] { loop_.stop(); }); }),
      patience_(loop_,
                [this] {
                  const relay::DrainRecord& drain = engine_->drain_record();
                  engine_->end_evenly(drain.close_from_ms, drain.over_ms, relay::Reason::drained);
                }),
      say_who_(loop_, [this] { say_draining(); }),
      keeper_(std::move(keeper)),
      passed_(std::move(passed)) {
  // splice(2) to a reset connection raises it and has no MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
}

Daemon::~Daemon() = default;

sys::Exit Daemon::run(const Plan& plan) {
  log_.line(sys::LogLevel::info, "starting")
      .field("program", program_.name)
      .field("version", program_.version)
      .field("pid", ::getpid());
  const auto obey = [this, &plan](int number) {
    if (number == SIGTERM) {
      if (stage_ == Stage::draining) return;
      tell_manager("STOPPING=1");
      return drain({});
    }
    if (number == SIGINT) return end_now(relay::Reason::shutdown);
    if (stage_ == Stage::draining) return;  // what is read now is of no use any more
    tell_manager("RELOADING=1");
    (void)control_->reload();
    tell_manager("READY=1");
  };
  std::vector<std::unique_ptr<sys::Signal>> signals;
  if (!keeper_) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
      signals.push_back(std::make_unique<sys::Signal>(loop_, number, [obey, number, came = false]() mutable {
        // As the keeper does it: the second TERM means now.
        obey(number == SIGTERM && std::exchange(came, true) ? SIGINT : number);
      }));
    }
  }
  std::optional<sys::SignalsAdmitted> admitted;
  if (!keeper_) admitted.emplace(std::initializer_list<int>{SIGTERM, SIGINT, SIGHUP});
  engine_.emplace(
      loop_, log_, plan.engine, [&](unsigned loop) { return plan.make_policy(*engine_, loop); }, keeper_.get());
  const EngineMetrics engine_metrics(metrics_, program_.name, program_.version, *engine_, log_);
  control_.emplace(log_, *engine_, keeper_.get(), program_.version,
                   Control::Actions{.revise =
                                        [this, &plan] {
                                          Revision revision = plan.revise();
                                          if (!revision.apply) return revision;
                                          revision.apply = [this, &plan, apply = std::move(revision.apply)] {
                                            apply();
                                            keep_settings(plan);
                                          };
                                          return revision;
                                        },
                                    .drain =
                                        [this](const Control::Drain& wish) {
                                          if (keeper_) keeper_->draining();
                                          drain(wish);
                                        },
                                    .is_draining = [this] { return stage_ == Stage::draining; }});
  add_pages(plan);
  if (auto started = start(plan); !started) {
    engine_.reset();
    return refuse(started.error());
  }
  if (plan.started) plan.started(*engine_);
  stage_ = Stage::serving;
  if (keeper_) obey_keeper(obey);
  keep_settings(plan);
  tell_manager("READY=1");
  log_.line(sys::LogLevel::info, "ready")
      .field("loops", engine_->loops())
      .field("max_sessions", engine_->max_sessions());
  loop_.run();
  if (leave_ != Leave::no) leave(leave_);
  engine_.reset();
  if (keeper_) keeper_->detach();
  log_.line(sys::LogLevel::info, "stopped").field("program", program_.name);
  return exit_;
}

// At an upgrade the old process serves meanwhile; after a crash everybody waits, so it is short.
void Daemon::prepare(const Plan& plan) {
  if (!plan.prepare) return;
  enum class Wait : std::uint8_t { not_yet, running, over };
  const auto wait = std::make_shared<Wait>(Wait::not_yet);  // the answer may come after the limit
  plan.prepare([this, wait] {
    if (*wait == Wait::running) loop_.stop();
    *wait = Wait::over;
  });
  if (*wait == Wait::over) return;
  sys::Timer limit(loop_, [this] { loop_.stop(); });
  limit.start(kPreparation);
  *wait = Wait::running;
  loop_.run();
  *wait = Wait::over;
}

void Daemon::keep_settings(const Plan& plan) {
  if (keeper_) keeper_->hold_settings(plan.config_text());
}

void Daemon::obey_keeper(std::function<void(int number)> signal) {
  const auto freeze_to = [this](Leave how) {
    lead_.stop();
    patience_.stop();
    say_who_.stop();
    engine_->freeze([this, how] {
      leave_ = how;
      loop_.stop();
    });
  };
  keeper_->attach(loop_,
                  {.signal = std::move(signal),
                   .freeze = [freeze_to] { freeze_to(Leave::to_next_worker); },
                   .refused = [this](std::uint32_t wishes, const std::string& why) { control_->refused(wishes, why); },
                   .lost =
                       [this, freeze_to] {
                         log_.line(sys::LogLevel::error, "keeper_lost").field("watched", keeper_->is_watched());
                         // Its service manager has ended the unit, and this process with it.
                         exit_ = sys::Exit::failed;
                         if (keeper_->is_watched()) return end_now(relay::Reason::shutdown);
                         freeze_to(Leave::to_become_keeper);
                       }});
}

// The sessions belong to the next process now: no destructor may touch them.
void Daemon::leave(Leave how) {
  log_.line(sys::LogLevel::info, "handed_over").field("sessions", engine_->sessions());
  log_.finish();
  if (how == Leave::to_become_keeper) {
    relay::StateWriter state;
    state.add({.kind = relay::KeeperKind::worker,
               .items = {{.a = 0,
                          .b = static_cast<std::uint32_t>(settings_.log.format),
                          .c = static_cast<std::uint32_t>(settings_.log.level)}}},
              {});
    if (stage_ == Stage::draining) state.add({.kind = relay::KeeperKind::draining}, {});
    engine_->describe(state);
    const sys::Error error = keeper_->become_keeper(state);
    std::fprintf(stderr, "%s: %s\n", program_.name.c_str(), error.text().c_str());
    ::_exit(static_cast<int>(sys::Exit::failed));
  }
  ::_exit(static_cast<int>(sys::Exit::ok));
}

void Daemon::tell_manager(std::string_view state) {
  keeper_ ? keeper_->notify(state) : notify(state);
}

sys::Result<void> Daemon::start(const Plan& plan) {
  if (auto enough = check_descriptors(*engine_, plan.engine.max_sessions); !enough) return enough;
  relay::Inheritance inheritance;
  if (keeper_) {
    prepare(plan);
    auto handed = keeper_->greet(static_cast<std::uint32_t>(plan.engine.extension_bytes));
    if (!handed) return tl::unexpected(handed.error());
    inheritance = std::move(*handed);
    resumed_ = static_cast<bool>(inheritance.table);
  }
  if (auto opened = open_admin(); !opened) return opened;
  return keeper_ ? engine_->take_over(std::move(inheritance)) : engine_->start(std::move(passed_));
}

// Where nobody asked for it, a missing admin socket is no reason not to serve.
sys::Result<void> Daemon::open_admin() {
  for (const sys::Endpoint& endpoint : settings_.admin) {
    const auto at = admin_.listen(endpoint);
    if (at) continue;
    if (!resumed_) return tl::unexpected(at.error());
    // Sessions depend on this process; to see them is less than to serve them.
    log_.line(sys::LogLevel::error, "admin_unavailable").field("error", at.error().text());
  }
  if (!settings_.admin.empty()) return {};
  if (const auto at = admin_.listen({.path = default_admin_path(program_.name)}); !at) {
    log_.line(sys::LogLevel::warning, "admin_unavailable")
        .field("error", at.error().text())
        .field("hint", "name a place with --admin");
  }
  return {};
}

void Daemon::add_pages(const Plan& plan) {
  readiness_.add([this](admin::Readiness::Reasons& reasons) {
    if (stage_ == Stage::starting) reasons.emplace_back("starting");
    if (stage_ == Stage::draining) reasons.push_back(fmt::format("draining, {} sessions left", engine_->sessions()));
  });
  admin::add_standard_pages(admin_, metrics_, readiness_);
  control_->add_pages(admin_);
  admin_.route("GET", "/config", [this, &plan](const admin::Request&) {
    return admin::Response{.content_type = "application/yaml",
                           .body = with_waiting(control_->waiting(), plan.config_text())};
  });
  add_session_page(admin_, *engine_, plan.describe_session);
}

// Its moments stand in the session table: a process that takes over goes on with the drain that it finds there.
void Daemon::drain(const Control::Drain& wish) {
  stage_ = Stage::draining;
  relay::DrainRecord& record = engine_->drain_record();
  if (record.since_ms == 0) {
    const std::int64_t now = relay::monotonic_ms();
    const auto timeout = wish.timeout.value_or(settings_.drain_timeout).count();
    const auto spread = std::min<std::int64_t>(wish.spread.value_or(settings_.drain_spread).count(), timeout);
    record = {.since_ms = now, .close_from_ms = now + timeout - spread, .over_ms = timeout > 0 ? now + timeout : 0};
  }
  go_on_draining();
}

void Daemon::go_on_draining() {
  const relay::DrainRecord& record = engine_->drain_record();
  const std::int64_t now = relay::monotonic_ms();
  log_.line(sys::LogLevel::info, "draining")
      .field("sessions", engine_->sessions())
      .field("since_ms", now - record.since_ms)
      .field("over_in_ms", record.over_ms == 0 ? 0 : record.over_ms - now);
  const auto until = [now](std::int64_t moment) { return sys::Duration(std::max<std::int64_t>(0, moment - now)); };
  if (record.over_ms != 0) patience_.start(until(record.close_from_ms));
  const sys::Duration all(record.over_ms == 0 ? kSayWhoAtMost.count() : record.over_ms - record.since_ms);
  const sys::Duration say = std::clamp<sys::Duration>(all / 10, kSayWhoAtLeast, kSayWhoAtMost);
  say_who_.start(say, say);
  lead_.start(until(record.since_ms + settings_.drain_lead.count()));
}

void Daemon::say_draining() {
  struct Oldest {
    std::int64_t accepted_ms = 0;
    std::string id;
  };
  const auto oldest = std::make_shared<Oldest>();
  const auto look = [oldest](const relay::SessionView& session) {
    if (!oldest->id.empty() && session.record.accepted_mono_ms >= oldest->accepted_ms) return;
    *oldest = {session.record.accepted_mono_ms, session.record.id.text()};
  };
  engine_->for_each_session(look, [this, oldest] {
    log_.line(sys::LogLevel::info, "draining_still")
        .field("sessions", engine_->sessions())
        .field("oldest", oldest->id)
        .field("oldest_age_ms", oldest->id.empty() ? 0 : relay::monotonic_ms() - oldest->accepted_ms);
  });
}

void Daemon::end_now(relay::Reason reason) {
  if (stage_ != Stage::draining) drain({});
  lead_.stop();
  engine_->drain([this] { loop_.stop(); });
  engine_->abort_all(reason);
}

// One line for the log, which is what a service manager keeps.
sys::Exit Daemon::refuse(const sys::Error& error) {
  auto line = log_.line(sys::LogLevel::error, "cannot_start");
  line.field("error", error.text());
  if (const auto hint = hint_for(error); !hint.empty()) line.field("hint", hint);
  return sys::exit_for(error);
}

}  // namespace ravelin::daemon
