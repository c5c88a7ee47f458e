#include "relay/listeners.h"

#include <netdb.h>

#include <algorithm>

#include "relay/socket.h"

namespace ravelin::relay {
namespace {

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

sys::Result<void> Listeners::open(std::vector<Inheritance::Listener> inherited, Opening opening) {
  inherited_ = std::move(inherited);
  for (const auto& listener : inherited_) {
    // They are one apart at the most, and may have gone round.
    if (!numbering_ || static_cast<std::int16_t>(listener.number.numbering - *numbering_) > 0) {
      numbering_ = listener.number.numbering;
    }
  }
  for (std::size_t i = 0; i < settings_.listeners.size(); ++i) {
    auto opened = open(static_cast<std::uint16_t>(i));
    if (!opened && opening != Opening::taking_over) return opened;
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

bool Listeners::take_inherited(std::uint16_t index, const std::string& key, const std::string& unix_path) {
  const auto found = std::ranges::find(inherited_, key, &Inheritance::Listener::key);
  if (found == inherited_.end()) return false;
  if (!found->fd) {  // it is open elsewhere
    inherited_.erase(found);
    return true;
  }
  const auto address = sys::SocketAddress::local_of(found->fd.get());
  if (found->number.number != Inheritance::kNoListener) indexes_.emplace_back(found->number, index);
  (void)::listen(found->fd.get(), settings_.listeners[index].backlog);  // changes the length of the queue, no more
  // What a listening socket has set holds for those that it accepts. Whether it can be had was tried on another socket.
  forget_options(found->fd.get());
  (void)prepare_stream(settings_.listeners[index].client, found->fd.get());
  guard_against_silence(settings_.listeners[index].client, found->fd.get());
  listeners_.push_back(
      {index, std::move(found->fd), address.value_or(sys::SocketAddress{}), unix_path, key,
       unix_path.empty() || unix_path.starts_with('@') ? sys::SocketFile() : sys::SocketFile(unix_path)});
  inherited_.erase(found);
  return true;
}

std::optional<std::uint16_t> Listeners::translate(ListenerNumber inherited) const {
  const auto found = std::ranges::find(indexes_, inherited, &std::pair<ListenerNumber, std::uint16_t>::first);
  return found == indexes_.end() ? std::nullopt : std::optional(found->second);
}

void Listeners::announce() const {
  for (const Listener& listener : listeners_) {
    log_.line(sys::LogLevel::info, "listening")
        .field("listener", settings_.listeners[listener.index].name)
        .field("address", listener.unix_path.empty() ? listener.address.text() : "unix:" + listener.unix_path);
  }
}

sys::Result<void> Listeners::open(std::uint16_t index) {
  const ListenerOptions& options = settings_.listeners[index];
  // Better now than with the first session.
  const sys::UniqueFd trial(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const SocketOptions* wished : {&options.origin, &options.client}) {
    if (auto usable = prepare_stream(*wished, trial.get()); !usable) return usable;
  }
  const sys::Endpoint& endpoint = options.address;
  if (endpoint.is_unix()) {
    const std::string key = listener_key(endpoint.path);
    if (take_inherited(index, key, endpoint.path)) return {};
    auto opened = sys::listen_on_unix(endpoint.path, options.backlog);
    if (!opened) return tl::unexpected(opened.error());
    const auto address = sys::SocketAddress::local_of(opened->fd.get()).value_or(sys::SocketAddress{});
    listeners_.push_back({index, std::move(opened->fd), address, endpoint.path, key, std::move(opened->file)});
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

sys::Result<void> Listeners::add(std::uint16_t index, const sys::SocketAddress& address) {
  const std::string key = listener_key(address);
  if (take_inherited(index, key, {})) return {};
  auto fd = listen_on(address, settings_.listeners[index].backlog);
  if (!fd) return tl::unexpected(fd.error());
  if (auto prepared = prepare_stream(settings_.listeners[index].client, fd->get()); !prepared) return prepared;
  guard_against_silence(settings_.listeners[index].client, fd->get());
  const auto bound = sys::SocketAddress::local_of(fd->get());
  listeners_.push_back({index, std::move(*fd), bound.value_or(address), {}, key, {}});
  return {};
}

// The listener that has accepted a connection: one bound to the connection's own address, else one bound to its port.
const Listeners::Listener* Listeners::accepted_by(int connection) const {
  const Listener* found = nullptr;
  const auto local = sys::SocketAddress::local_of(connection);
  if (!local) return nullptr;
  for (const Listener& listener : listeners_) {
    if (!local->is_ip()) {
      if (!listener.unix_path.empty() && unix_name_of(connection) == unix_name_of(listener.fd.get())) return &listener;
      continue;
    }
    if (listener.address == *local) return &listener;
    const auto& any = listener.address;
    if (any.is_wildcard() && any.family == local->family && any.port == local->port) found = &listener;
  }
  return found;
}

std::vector<sys::SocketAddress> Listeners::addresses() const {
  std::vector<sys::SocketAddress> addresses;
  for (const Listener& listener : listeners_) addresses.push_back(listener.address);
  return addresses;
}

}  // namespace ravelin::relay
