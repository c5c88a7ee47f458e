#include "relay/acceptor.h"

#include <netdb.h>

#include <algorithm>

#include "relay/clock.h"
#include "relay/socket.h"

namespace ravelin::relay {
namespace {

constexpr std::uint32_t kBatch = 64;                   // connections a turn
constexpr std::chrono::milliseconds kRetryAfter{100};  // when the system, not our limit, is what is short

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// The addresses that a listener's host names; a listener's name is resolved once, at start.
sys::Result<std::vector<sys::SocketAddress>> resolve(const sys::Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int status = ::getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &list);
  if (status != 0) {
    return sys::fail(status == EAI_SYSTEM ? errno : EADDRNOTAVAIL,
                     "cannot listen on {}: its name does not resolve ({})", endpoint.text(), ::gai_strerror(status));
  }
  std::vector<sys::SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    addresses.push_back(sys::SocketAddress::from(entry->ai_addr, entry->ai_addrlen));
    addresses.back().port = endpoint.port;
  }
  ::freeaddrinfo(list);
  return addresses;
}

// What a Unix socket is bound to. An accepted one has its listener's name.
std::string unix_name_of(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.ss_family != AF_UNIX) return {};
  return {reinterpret_cast<const char*>(&address), length};
}

}  // namespace

Acceptor::Acceptor(sys::Loop& control, sys::Log& log, const EngineSettings& settings, CounterBlock& counters,
                   const std::vector<std::unique_ptr<RelayLoop>>& loops)
    : control_(control), log_(log), settings_(settings), counters_(counters), loops_(loops), retry_(control, [this] {
        resume();
      }) {}

Acceptor::~Acceptor() {
  stop();
}

sys::Result<void> Acceptor::open(std::vector<Inheritance::Listener> inherited, Opening opening) {
  inherited_ = std::move(inherited);
  for (std::size_t i = 0; i < settings_.listeners.size(); ++i) {
    auto opened = open(static_cast<std::uint16_t>(i));
    if (!opened && opening == Opening::at_start) return opened;
    if (opened) continue;
    log_.line(sys::LogLevel::error, "listener_unavailable")
        .field("listener", settings_.listeners[i].name)
        .field("error", opened.error().text());
  }
  // Clients would wait for ever in a socket that was passed in and that nobody accepts from.
  if (!inherited_.empty() && opening == Opening::at_start) {
    return sys::fail(0,
                     "{} was passed in, but no listener has this address: name it in the settings, or take it out of "
                     "the socket unit",
                     inherited_.front().key);
  }
  inherited_.clear();  // closes those that the settings do not name any more
  return {};
}

bool Acceptor::take_inherited(std::uint16_t index, const std::string& key, const std::string& unix_path) {
  const auto found = std::ranges::find(inherited_, key, &Inheritance::Listener::key);
  if (found == inherited_.end()) return false;
  const auto address = sys::SocketAddress::local_of(found->fd.get());
  indexes_.emplace_back(static_cast<std::uint16_t>(found->index), index);
  (void)::listen(found->fd.get(), settings_.listeners[index].backlog);  // changes the length of the queue, no more
  // What a listening socket has set holds for those that it accepts; a wish that fails now was granted before.
  (void)prepare_stream(settings_.listeners[index].client, found->fd.get());
  guard_against_silence(settings_.listeners[index].client, found->fd.get());
  listeners_.push_back(
      {index, std::move(found->fd), address.value_or(sys::SocketAddress{}), unix_path, key,
       unix_path.empty() || unix_path.starts_with('@') ? sys::SocketFile() : sys::SocketFile(unix_path), nullptr});
  inherited_.erase(found);
  return true;
}

std::uint16_t Acceptor::translate(std::uint16_t inherited_index) const {
  const auto found = std::ranges::find(indexes_, inherited_index, &std::pair<std::uint16_t, std::uint16_t>::first);
  return found == indexes_.end() ? std::uint16_t{0} : found->second;
}

void Acceptor::for_each(const std::function<void(std::uint16_t, const std::string&, int)>& visit) const {
  for (const Listener& listener : listeners_) visit(listener.index, listener.key, listener.fd.get());
}

void Acceptor::freeze() {
  retry_.stop();
  full_.store(false);  // no session's end starts anything any more
  for (Listener& listener : listeners_) listener.poll.reset();
}

sys::Result<void> Acceptor::open(std::uint16_t index) {
  const ListenerOptions& options = settings_.listeners[index];
  // Better now than with the first session.
  const sys::UniqueFd trial(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (auto usable = prepare_stream(options.origin, trial.get()); !usable) return usable;
  const sys::Endpoint& endpoint = options.address;
  if (endpoint.is_unix()) {
    const std::string key = listener_key(endpoint.path);
    if (take_inherited(index, key, endpoint.path)) return {};
    auto opened = sys::listen_on_unix(endpoint.path, options.backlog);
    if (!opened) return tl::unexpected(opened.error());
    const auto address = sys::SocketAddress::local_of(opened->fd.get()).value_or(sys::SocketAddress{});
    listeners_.push_back({index, std::move(opened->fd), address, endpoint.path, key, std::move(opened->file), nullptr});
    return {};
  }
  if (const auto literal = endpoint.literal()) return add(index, *literal);
  if (!endpoint.host.empty()) {
    const auto addresses = resolve(endpoint);
    if (!addresses) return tl::unexpected(addresses.error());
    for (const auto& address : *addresses) {
      if (auto added = add(index, address); !added) return added;
    }
    return {};
  }
  // ":PORT" is both families, of which a machine may lack one.
  if (auto added = add(index, sys::SocketAddress::ipv4({}, endpoint.port)); !added) return added;
  auto added = add(index, sys::SocketAddress::ipv6({}, endpoint.port));
  if (!added && (added.error().code == EAFNOSUPPORT || added.error().code == EADDRNOTAVAIL)) {
    log_.line(sys::LogLevel::warning, "ipv6_unavailable")
        .field("listener", options.name)
        .field("error", added.error().text());
    return {};
  }
  return added;
}

sys::Result<void> Acceptor::add(std::uint16_t index, const sys::SocketAddress& address) {
  const std::string key = listener_key(address);
  if (take_inherited(index, key, {})) return {};
  auto fd = listen_on(address, settings_.listeners[index].backlog);
  if (!fd) return tl::unexpected(fd.error());
  if (auto prepared = prepare_stream(settings_.listeners[index].client, fd->get()); !prepared) return prepared;
  guard_against_silence(settings_.listeners[index].client, fd->get());
  const auto bound = sys::SocketAddress::local_of(fd->get());
  listeners_.push_back({index, std::move(*fd), bound.value_or(address), {}, key, {}, nullptr});
  return {};
}

void Acceptor::start() {
  for (Listener& listener : listeners_) {
    listener.poll = std::make_unique<sys::Poll>(control_, listener.fd.get(),
                                                [this, &listener](int, int) { accept_from(listener); });
    listener.poll->start(UV_READABLE);
    log_.line(sys::LogLevel::info, "listening")
        .field("listener", settings_.listeners[listener.index].name)
        .field("address", listener.unix_path.empty() ? listener.address.text() : "unix:" + listener.unix_path);
  }
}

void Acceptor::stop() {
  retry_.stop();
  full_.store(false);
  listeners_.clear();
}

void Acceptor::accept_from(const Listener& listener) {
  std::vector<std::vector<Accepted>> batches(loops_.size());
  int shortage = 0;
  for (std::uint32_t i = 0; i < kBatch && !is_full(i); ++i) {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    auto* address = reinterpret_cast<sockaddr*>(&peer);
    sys::UniqueFd fd(::accept4(listener.fd.get(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && is_shortage(errno)) shortage = errno;
    // Errors of the connection itself (accept(2) names a dozen) are the connection's business.
    if (!fd && (errno == EAGAIN || errno == EINVAL || shortage != 0)) break;
    if (!fd) continue;
    auto local = listener.address;
    if (local.is_wildcard()) local = sys::SocketAddress::local_of(fd.get()).value_or(local);
    assign({.fd = std::move(fd),
            .listener = listener.index,
            .peer = sys::SocketAddress::from(address, length),
            .local = local},
           batches);
  }
  hand_over(std::move(batches));
  if (shortage != 0 || is_full(0)) pause(shortage);
}

void Acceptor::hand_over(std::vector<std::vector<Accepted>> batches) {
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    if (!batches[i].empty()) loops_[i]->hand_over(std::move(batches[i]));
  }
}

void Acceptor::admit(std::vector<sys::UniqueFd> newcomers) {
  std::vector<std::vector<Accepted>> batches(loops_.size());
  for (sys::UniqueFd& fd : newcomers) {
    const Listener* listener = listener_of(fd.get());
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (listener == nullptr || ::getpeername(fd.get(), reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    auto local = listener->address;
    if (local.is_wildcard()) local = sys::SocketAddress::local_of(fd.get()).value_or(local);
    assign({.fd = std::move(fd),
            .listener = listener->index,
            .peer = sys::SocketAddress::from(reinterpret_cast<sockaddr*>(&peer), length),
            .local = local},
           batches);
  }
  hand_over(std::move(batches));
}

// The listener that has accepted a connection: one bound to the connection's own address, else one bound to its port.
const Acceptor::Listener* Acceptor::listener_of(int fd) const {
  const Listener* found = nullptr;
  const auto local = sys::SocketAddress::local_of(fd);
  if (!local) return nullptr;
  for (const Listener& listener : listeners_) {
    if (!local->is_ip()) {
      if (!listener.unix_path.empty() && unix_name_of(fd) == unix_name_of(listener.fd.get())) return &listener;
      continue;
    }
    if (listener.address == *local) return &listener;
    const auto& any = listener.address;
    if (any.is_wildcard() && any.family == local->family && any.port == local->port) found = &listener;
  }
  return found;
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
  for (const Listener& listener : listeners_) listener.poll->stop();
  log_pause(error);
  if (error != 0) {
    retry_.start(kRetryAfter);
    return;
  }
  full_.store(true);
  if (!is_full(0)) resume();  // the last one may have ended before anybody was told to say so
}

// At the limit every session that ends lets one in: once a minute is enough to say so, and the counter has them all.
void Acceptor::log_pause(int error) {
  const std::int64_t now = monotonic_ms();
  if (last_logged_ms_ != 0 && now - last_logged_ms_ < 60'000) return;
  last_logged_ms_ = now;
  auto line = log_.line(sys::LogLevel::warning, "accept_paused");
  line.field("pauses_total", counters_.value(kAcceptPauses)).field("max_sessions", settings_.max_sessions);
  line.field("reason", error != 0 ? sys::Error{error, "accept"}.text() : std::string("session limit reached"));
}

void Acceptor::session_ended() {
  if (full_.load() && !is_full(0)) resume();
}

void Acceptor::resume() {
  paused_ = false;
  full_.store(false);
  for (const Listener& listener : listeners_) listener.poll->start(UV_READABLE);
}

std::vector<sys::SocketAddress> Acceptor::addresses() const {
  std::vector<sys::SocketAddress> addresses;
  for (const Listener& listener : listeners_) addresses.push_back(listener.address);
  return addresses;
}

}  // namespace ravelin::relay
