#include "relay/acceptor.h"

#include <sys/eventfd.h>

#include <algorithm>

#include "relay/clock.h"
#include "relay/socket.h"

namespace ravelin::relay {
namespace {

constexpr std::uint32_t kBatch = 64;  // the most connections a turn
constexpr std::size_t kSpareDescriptors = 8;
constexpr std::chrono::milliseconds kRetryAfter{100};  // when the system, not our limit, is what is short

Accepted accepted(const Listeners::Listener& listener, sys::UniqueFd fd, const sys::SocketAddress& peer) {
  auto local = listener.address;
  if (local.is_wildcard()) local = sys::SocketAddress::local_of(fd.get()).value_or(local);
  return {.fd = std::move(fd), .listener = listener.index, .peer = peer, .local = local};
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(sys::Log& log, const EngineSettings& settings, CounterBlock& counters, const Limiters& limiters,
                   const std::vector<std::unique_ptr<RelayLoop>>& loops, const Listeners& listeners)
    : log_(log),
      settings_(settings),
      counters_(counters),
      limiters_(limiters),
      loops_(loops),
      listeners_(listeners),
      room_(loops.front()->uv(), [this] { look_for_room(); }),
      retry_(loops.front()->uv(), [this] { resume(); }),
      token_(loops.front()->uv(), [this] { let_go(Held::until_a_token); }),
      say_held_back_(loops.front()->uv(), [this] { refused_lines_.say_held_back(log_); }) {}

Acceptor::~Acceptor() {
  stop();
}

void Acceptor::start() {
  (void)keep_spare();
  say_held_back_.start(sys::LogBudget::kSayEvery, sys::LogBudget::kSayEvery);
  queues_.reserve(listeners_.all().size());  // callbacks refer to them
  for (const auto& listener : listeners_.all()) {
    Queue& queue = queues_.emplace_back(Queue{.listener = &listener, .poll = nullptr});
    queue.poll = std::make_unique<sys::Poll>(loops_.front()->uv(), listener.fd.get(),
                                             [this, &queue](int, int) { accept_from(queue); });
    queue.poll->start(UV_READABLE);
  }
}

void Acceptor::stop() {
  retry_.stop();
  token_.stop();
  say_held_back_.stop();
  refused_lines_.say_held_back(log_);
  full_.store(false);  // no session's end starts anything any more
  queues_.clear();
}

// As many as were found last time, and twice as many next time if those were there: a lone connection costs one call, a
// flood one for each, and neither a second one only to hear that there are no more.
void Acceptor::accept_from(Queue& queue) {
  const Listeners::Listener& listener = *queue.listener;
  std::vector<std::vector<Accepted>> batches(loops_.size());
  const auto& limiter = limiters_[listener.index];
  const bool waits_when_full = settings_.at_max_sessions == AtLimit::leave_in_backlog;
  const std::int64_t now = limiter || !waits_when_full ? monotonic_ms() : 0;
  std::optional<Limiter::Hold> held;
  std::uint32_t on_the_way = 0;
  std::uint32_t taken = 0;
  int shortage = 0;
  for (std::uint32_t i = 0; i < queue.appetite && !(waits_when_full && is_full(on_the_way)); ++i) {
    if (limiter && (held = limiter->hold(now))) break;
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    sys::UniqueFd fd(::accept4(listener.fd.get(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && is_shortage(errno)) shortage = errno;
    // Errors of the connection itself (accept(2) names a dozen) are the connection's business.
    if (!fd && (errno == EAGAIN || errno == EINVAL || shortage != 0)) break;
    if (!fd) continue;
    ++taken;
    Accepted client = accepted(listener, std::move(fd), sys::SocketAddress::from(address, length));
    if (!is_admitted(client, on_the_way, now)) continue;
    assign(std::move(client), batches);
    ++on_the_way;
  }
  queue.appetite = taken == queue.appetite ? std::min(taken * 2, kBatch) : std::max(taken, 1U);
  hand_over(std::move(batches));
  if (shortage != 0 || (waits_when_full && is_full(0))) pause(shortage);
  if (held) hold(queue, *held);
}

void Acceptor::hand_over(std::vector<std::vector<Accepted>> batches) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (!batches[i].empty()) loops_[i]->hand_over(std::move(batches[i]));
  }
}

bool Acceptor::is_admitted(Accepted& client, std::uint32_t on_the_way, std::int64_t now) {
  if (settings_.at_max_sessions != AtLimit::leave_in_backlog && is_full(on_the_way)) {
    refuse(client, Limit::max_sessions, settings_.at_max_sessions, now);
    return false;
  }
  const auto& limiter = limiters_[client.listener];
  if (!limiter) return true;
  const Limiter::Decision decision = limiter->admit(client.peer, now);
  if (decision.shared) counters_.add(kSourcesWithoutPlace);
  if (decision.limit != Limit::none) {
    refuse(client, decision.limit, decision.action, now);
    return false;
  }
  client.source = decision.source;
  return true;
}

// The keeper has no duplicate of it yet; the signal is the same as everywhere.
void Acceptor::refuse(const Accepted& client, Limit limit, AtLimit action, std::int64_t now) {
  const bool resets = action == AtLimit::reset;
  counters_.add(kLimitReached + static_cast<unsigned>(limit));
  resets ? reset(client.fd.get()) : finish_sending(client.fd.get());
  if (!refused_lines_.admit(log_, now)) return;
  log_.line(sys::LogLevel::warning, "limit_reached")
      .field("limit", name(limit))
      .field("action", resets ? "reset" : "close")
      .field("listener", settings_.listeners[client.listener].name)
      .field("client", client.peer);
}

void Acceptor::hold(Queue& queue, const Limiter::Hold& hold) {
  counters_.add(kAcceptPauses);
  counters_.add(kLimitReached + static_cast<unsigned>(hold.limit));
  log_pause(name(hold.limit));
  const bool is_first = !is_any_held(Held::until_a_token);
  queue.held = hold.for_ms ? Held::until_a_token : Held::until_an_end;
  queue.poll->stop();
  if (hold.for_ms) {
    const std::int64_t wait = std::max<std::int64_t>(*hold.for_ms, 1);
    const std::int64_t due = monotonic_ms() + wait;
    // One timer for all listeners, for the first that is due.
    if (!is_first && token_due_ms_ <= due) return;
    token_due_ms_ = due;
    return token_.start(std::chrono::milliseconds(wait));
  }
  full_.store(true);
  if (limiters_[queue.listener->index]->has_room())
    look_for_room();  // it may have ended before anybody was told to say so
}

bool Acceptor::is_any_held(Held held) const {
  return std::ranges::any_of(queues_, [held](const Queue& queue) { return queue.held == held; });
}

void Acceptor::let_go(Held held) {
  for (Queue& queue : queues_) {
    if (queue.held != held) continue;
    // A full listener that was held by its rate has to refuse what comes.
    if (held == Held::until_an_end && !limiters_[queue.listener->index]->has_room()) continue;
    queue.held = Held::no;
    if (!paused_) queue.poll->start(UV_READABLE);
  }
}

// Descriptors that can be done without. False: there are not even those.
bool Acceptor::keep_spare() {
  while (spare_.size() < kSpareDescriptors) {
    sys::UniqueFd fd(::eventfd(0, EFD_CLOEXEC));  // any kind would do
    if (!fd) return false;
    spare_.push_back(std::move(fd));
  }
  return true;
}

// They were admitted by the process before: the limits count them, and refuse none.
void Acceptor::admit(std::vector<sys::UniqueFd> newcomers) {
  std::vector<std::vector<Accepted>> batches(loops_.size());
  for (sys::UniqueFd& fd : newcomers) {
    const Listeners::Listener* listener = listeners_.accepted_by(fd.get());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    if (listener == nullptr || ::getpeername(fd.get(), address, &length) != 0) continue;
    Accepted client = accepted(*listener, std::move(fd), sys::SocketAddress::from(address, length));
    if (const auto& limiter = limiters_[client.listener]) client.source = limiter->adopt(client.peer);
    assign(std::move(client), batches);
  }
  hand_over(std::move(batches));
}

// The counts are the acceptor's own to raise, so they are right before the loop has seen its connection.
void Acceptor::assign(Accepted client, std::vector<std::vector<Accepted>>& batches) const {
  std::size_t best = 0;
  const auto load = [&](std::size_t i) { return loops_[i]->load() + batches[i].size(); };
  for (std::size_t i = 1; i < loops_.size(); ++i) {
    if (load(i) < load(best)) best = i;
  }
  batches[best].push_back(std::move(client));
}

bool Acceptor::is_full(std::uint32_t on_the_way) const {
  std::uint32_t sessions = on_the_way;
  for (const auto& loop : loops_) sessions += loop->load();
  return sessions >= settings_.max_sessions;
}

void Acceptor::pause(int error) {
  if (paused_) return;
  paused_ = true;
  counters_.add(kAcceptPauses);
  for (const Queue& queue : queues_) queue.poll->stop();
  log_pause(error != 0 ? sys::Error{error, "accept"}.text() : name(Limit::max_sessions));
  if (error != 0) {
    spare_.clear();
    retry_.start(kRetryAfter);
    return;
  }
  counters_.add(kLimitReached + static_cast<unsigned>(Limit::max_sessions));
  full_.store(true);
  if (!is_full(0)) resume();  // the last one may have ended before anybody was told to say so
}

// At the limit every session that ends lets one in: once a minute is enough to say so, and the counter has them all.
void Acceptor::log_pause(std::string_view reason) {
  const std::int64_t now = monotonic_ms();
  if (last_logged_ms_ != 0 && now - last_logged_ms_ < 60'000) return;
  last_logged_ms_ = now;
  log_.line(sys::LogLevel::warning, "accept_paused")
      .field("pauses_total", counters_.value(kAcceptPauses))
      .field("max_sessions", settings_.max_sessions)
      .field("reason", reason);
}

void Acceptor::look_for_room() {
  if (!full_.load()) return;
  if (paused_ && !is_full(0)) resume();
  let_go(Held::until_an_end);
  full_.store(paused_ || is_any_held(Held::until_an_end));
}

void Acceptor::resume() {
  if (!keep_spare()) {
    spare_.clear();
    retry_.start(kRetryAfter);
    return;
  }
  paused_ = false;
  full_.store(is_any_held(Held::until_an_end));
  for (const Queue& queue : queues_) {
    if (queue.held == Held::no) queue.poll->start(UV_READABLE);
  }
}

}  // namespace ravelin::relay
