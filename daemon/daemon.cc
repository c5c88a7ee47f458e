#include "daemon/daemon.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "admin/pages.h"
#include "daemon/engine_metrics.h"
#include "daemon/hint.h"
#include "daemon/notify.h"
#include "sys/descriptor.h"
#include "sys/signals.h"

namespace ravelin::daemon {
namespace {

// Fewer than this is no service but a riddle: better to say at the start what is missing.
constexpr std::uint32_t kLeastSessions = 8;

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

Daemon::Daemon(const config::Program& program, const DaemonSettings& settings)
    : program_(program),
      settings_(settings),
      log_(settings.log.format, settings.log.level),
      admin_(loop_, log_),
      patience_(loop_, [this] { end_now(relay::Reason::drained); }) {
  // splice(2) to a reset connection raises it and has no MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
}

Daemon::~Daemon() = default;

sys::Exit Daemon::run(const Plan& plan) {
  log_.line(sys::LogLevel::info, "starting")
      .field("program", program_.name)
      .field("version", program_.version)
      .field("pid", ::getpid());
  const sys::Signal terminate(loop_, SIGTERM,
                              [this] { stage_ == Stage::draining ? end_now(relay::Reason::shutdown) : drain(); });
  const sys::Signal interrupt(loop_, SIGINT, [this] { end_now(relay::Reason::shutdown); });
  const sys::Signal hangup(loop_, SIGHUP, [this, &plan] {
    if (stage_ == Stage::draining) return;  // what is read now is of no use any more
    notify("RELOADING=1");
    plan.reload();
    notify("READY=1");
  });
  const sys::SignalsAdmitted admitted({SIGTERM, SIGINT, SIGHUP});
  engine_.emplace(loop_, log_, plan.engine, [&](unsigned loop) { return plan.make_policy(*engine_, loop); });
  const EngineMetrics engine_metrics(metrics_, program_.name, program_.version, *engine_, log_);
  add_pages(plan);
  if (auto started = start(plan); !started) {
    engine_.reset();
    return refuse(started.error());
  }
  if (plan.started) plan.started(*engine_);
  stage_ = Stage::serving;
  notify("READY=1");
  log_.line(sys::LogLevel::info, "ready")
      .field("loops", engine_->loops())
      .field("max_sessions", engine_->max_sessions());
  loop_.run();
  engine_.reset();
  log_.line(sys::LogLevel::info, "stopped").field("program", program_.name);
  return sys::Exit::ok;
}

sys::Result<void> Daemon::start(const Plan& plan) {
  if (auto enough = check_descriptors(*engine_, plan.engine.max_sessions); !enough) return enough;
  if (auto opened = open_admin(); !opened) return opened;
  return engine_->start();
}

// Where nobody asked for it, a missing admin socket is no reason not to serve.
sys::Result<void> Daemon::open_admin() {
  for (const sys::Endpoint& endpoint : settings_.admin) {
    if (const auto at = admin_.listen(endpoint); !at) return tl::unexpected(at.error());
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
    if (stage_ == Stage::draining) reasons.emplace_back("draining");
  });
  admin::add_standard_pages(admin_, metrics_, readiness_);
  admin_.route("GET", "/config", [&plan](const admin::Request&) {
    return admin::Response{.content_type = "application/yaml", .body = plan.config_text()};
  });
  std::vector<std::string> listeners;
  for (const auto& listener : plan.engine.listeners) listeners.push_back(listener.name);
  add_session_page(admin_, *engine_, std::move(listeners), plan.describe_session);
}

void Daemon::drain() {
  stage_ = Stage::draining;
  notify("STOPPING=1");
  log_.line(sys::LogLevel::info, "draining").field("sessions", engine_->sessions());
  if (settings_.drain_timeout.count() > 0) patience_.start(settings_.drain_timeout);
  engine_->drain([this] { loop_.stop(); });
}

void Daemon::end_now(relay::Reason reason) {
  if (stage_ != Stage::draining) drain();
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
