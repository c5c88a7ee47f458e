#include "relay/relay_loop.h"

#include <pthread.h>

#include <utility>

#include "sys/signals.h"

namespace ravelin::relay {

RelayLoop::RelayLoop(const SessionTable& table, std::uint32_t index, const EngineSettings& settings,
                     std::unique_ptr<SessionPolicy> policy, const Limiters& limiters, std::function<void()> on_ended,
                     KeeperChannel keeper)
    : on_ended_(std::move(on_ended)), policy_(std::move(policy)) {
  sessions_ = std::make_unique<Sessions>(loop_, table, index, settings, *policy_, limiters, [this] {
    load_.fetch_sub(1);
    on_ended_();
  });
  keeper_ = std::move(keeper);
  if (keeper_) {
    beat_ = std::make_unique<sys::Timer>(loop_, [this] { (void)keeper_.send({.kind = KeeperKind::beat}); });
    beat_->start(kBeat, kBeat);
  }
  mail_ = std::make_unique<sys::Mailbox>(loop_);
}

RelayLoop::~RelayLoop() {
  stop();
  mail_.reset();
  beat_.reset();
  sessions_.reset();
}

void RelayLoop::adopt() {
  load_.store(sessions_->adopt());
  adopted_ = true;
}

void RelayLoop::start() {
  const sys::SignalsBlocked blocked;
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "relay");
    if (adopted_) sessions_->resume_adopted();
    while (!over_) sessions_->turn();
  });
}

void RelayLoop::stop() {
  if (!thread_.joinable()) return;
  post([this](Sessions& sessions, SessionPolicy&) {
    sessions.end_all(Reason::shutdown);
    over_ = true;
  });
  thread_.join();
}

void RelayLoop::freeze(std::function<void()> frozen) {
  post([this, frozen = std::move(frozen)](Sessions& sessions, SessionPolicy&) {
    sessions.freeze();
    over_ = true;
    frozen();
  });
}

void RelayLoop::hand_over(std::vector<Accepted> clients) {
  load_.fetch_add(static_cast<std::uint32_t>(clients.size()));
  if (std::this_thread::get_id() == thread_.get_id()) {
    for (Accepted& client : clients) sessions_->begin(std::move(client));
    return;
  }
  // std::function copies what it holds, descriptors cannot be copied.
  auto shared = std::make_shared<std::vector<Accepted>>(std::move(clients));
  mail_->post([this, shared] {
    for (Accepted& client : *shared) sessions_->begin(std::move(client));
  });
}

void RelayLoop::post(std::function<void(Sessions&, SessionPolicy&)> task) {
  mail_->post([this, task = std::move(task)] { task(*sessions_, *policy_); });
}

}  // namespace ravelin::relay
