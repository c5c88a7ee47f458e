// When the keeper loses patience with a worker, and what keeps the service manager from losing its own with the keeper.

#include <csignal>
#include <cstdlib>

#include "relay/clock.h"
#include "relay/keeper.h"

namespace ravelin::relay {
namespace {

constexpr std::int64_t kBeatPatienceMs = 10'000;  // of a relay loop; two beats may come late
constexpr std::int64_t kControlPatienceMs = 30'000;
constexpr std::int64_t kLastWordsMs = 2'000;  // between SIGABRT, for a core to look at, and SIGKILL

}  // namespace

void Keeper::check_deadlines() {
  const std::int64_t now = monotonic_ms();
  if (retry_ms_ != 0 && now >= retry_ms_ && !start()) {
    choose_next(false, false);
    retry_ms_ = now + 1'000;
  }
  if (worker_ && worker_.deadline_ms != 0 && now >= worker_.deadline_ms) {
    log_->line(sys::LogLevel::warning, "worker_too_slow").field("worker", worker_.pid);
    worker_.deadline_ms = 0;
    if (worker_.status) {
      worker_.control = {};
      worker_ended(*worker_.status);
    } else {
      ::kill(worker_.pid, SIGKILL);
    }
  }
  if (candidate_ && candidate_.deadline_ms != 0 && now >= candidate_.deadline_ms) {
    upgrade_failed(fmt::format("it did not answer within {} s", kGreetingPatienceMs / 1000));
  }
  check_beats(now);
  watchdog(now);
}

void Keeper::check_beats(std::int64_t now) {
  if (!worker_ || worker_.stage != WorkerProcess::Stage::running || worker_.hung || worker_.status) return;
  bool hung = now - worker_.heard_ms > kControlPatienceMs;
  for (const auto& loop : worker_.loops) hung |= now - loop.heard_ms > kBeatPatienceMs;
  if (!hung) return;
  log_->line(sys::LogLevel::error, "worker_hung").field("worker", worker_.pid);
  worker_.hung = true;
  worker_.deadline_ms = now + kLastWordsMs;
  ::kill(worker_.pid, SIGABRT);
}

// systemd's watchdog is for the keeper; a worker whose loops have stopped is the keeper's own business, and it acts
// long before a watchdog would.
void Keeper::watchdog(std::int64_t now) {
  const std::int64_t due = watchdog_due();
  if (due == 0 || now < due) return;
  fed_ms_ = now;
  options_.notify("WATCHDOG=1");
}

std::int64_t Keeper::watchdog_due() const {
  const char* period = std::getenv("WATCHDOG_USEC");
  return period == nullptr || !options_.notify ? 0 : fed_ms_ + std::atoll(period) / 1000 / 3;
}

}  // namespace ravelin::relay
