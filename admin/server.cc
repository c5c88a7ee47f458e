#include "admin/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "sys/descriptor.h"

namespace ravelin::admin {
namespace {

constexpr int kAcceptsPerRound = 16;
constexpr std::chrono::milliseconds kPause{1000};
constexpr std::uint64_t kSpareForMilliseconds = 1000;

constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n"
    "Retry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n";

std::string allowed(const std::map<std::string, Handler>& methods) {
  std::string list;
  for (const auto& [method, handler] : methods) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", method == "GET" ? "GET, HEAD" : method);
  }
  return list;
}

}  // namespace

AdminServer::AdminServer(sys::Loop& loop, sys::Log& log, const Limits& limits)
    : log_(log),
      context_{.loop = loop,
               .log = log,
               .limits = limits,
               .serve = [this](const Request& request, Reply reply) { serve(request, std::move(reply)); },
               .closed = [this](const Connection& connection) { connections_.erase(&connection); }},
      resume_(loop, [this] {
        for (auto& door : doors_) door.poll->start(UV_READABLE);
      }) {}

AdminServer::~AdminServer() = default;

sys::Result<sys::Endpoint> AdminServer::listen(const sys::Endpoint& endpoint, mode_t mode) {
  auto listener = Listener::open(endpoint, mode);
  if (!listener) return tl::unexpected(listener.error());
  Door& door = doors_.emplace_back(std::move(*listener));
  door.poll.emplace(context_.loop, door.listener.fd(), [this, &door](int, int) { accept_from(door.listener); });
  door.poll->start(UV_READABLE);
  log_.line(sys::LogLevel::info, "admin_listening").field("address", door.listener.endpoint().text());
  return door.listener.endpoint();
}

void AdminServer::route(const std::string& method, const std::string& path, Handler handler) {
  routes_[path][method] = std::move(handler);
}

void AdminServer::route(const std::string& method, const std::string& path, PlainHandler handler) {
  route(method, path,
        Handler([handler = std::move(handler)](const Request& request, Reply reply) { reply.send(handler(request)); }));
}

void AdminServer::accept_from(const Listener& listener) {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    sys::UniqueFd fd(::accept4(listener.fd(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      admit(std::move(fd), sys::SocketAddress::from(address, length));
      continue;
    }
    switch (errno) {
      case EAGAIN:
        return;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return pause_accepting(errno);
      default:
        break;  // accept(2): the error of a connection that is gone already; the next one may be fine
    }
  }
}

// The listener stays readable while nothing can be accepted: polling on would spin.
void AdminServer::pause_accepting(int error) {
  log_.line(sys::LogLevel::warning, "admin_cannot_accept").field("reason", sys::Error{error, "accept"}.text());
  for (auto& door : doors_) door.poll->stop();
  resume_.start(kPause);
}

void AdminServer::admit(sys::UniqueFd fd, const sys::SocketAddress& peer) {
  if (connections_.size() >= context_.limits.connections && !make_room()) return turn_away(std::move(fd));
  if (full_ && connections_.size() < context_.limits.connections / 2) {
    full_ = false;
    log_.line(sys::LogLevel::info, "admin_has_room").field("turned_away_total", turned_away_);
  }
  if (peer.is_ip()) (void)sys::set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  auto connection = std::make_shared<Connection>(context_, std::move(fd), peer);
  connections_.emplace(connection.get(), connection);
}

// Clients that hold a connection without wanting anything make way for one that may.
bool AdminServer::make_room() {
  const std::uint64_t now = uv_now(context_.loop.raw());
  std::uint64_t earliest = now - std::min(now, kSpareForMilliseconds);
  Connection* longest = nullptr;
  for (const auto& [key, connection] : connections_) {
    const auto since = connection->spare_since();
    if (!since || *since > earliest) continue;
    earliest = *since;
    longest = connection.get();
  }
  if (longest != nullptr) longest->close();
  return longest != nullptr;
}

void AdminServer::turn_away(sys::UniqueFd fd) {
  ++turned_away_;
  if (!full_) {
    full_ = true;
    log_.line(sys::LogLevel::warning, "admin_is_full").field("connections", context_.limits.connections);
  }
  // Closing with unread input would reset the connection before the client has read why.
  std::array<char, 4096> request;
  (void)::recv(fd.get(), request.data(), request.size(), MSG_DONTWAIT);
  (void)::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL);
  (void)::shutdown(fd.get(), SHUT_WR);
}

std::string AdminServer::pages() const {
  std::string list;
  for (const auto& [path, methods] : routes_) list += (list.empty() ? "" : " ") + path;
  return list;
}

void AdminServer::serve(const Request& request, Reply reply) {
  const auto path = routes_.find(request.target.path);
  if (path == routes_.end()) return reply.send(text_response(404, "nothing is here; there are: " + pages()));
  const auto method = path->second.find(request.method);
  if (method == path->second.end()) {
    Response response = text_response(405, "this method is not served here");
    response.allow = allowed(path->second);
    return reply.send(std::move(response));
  }
  if (request.method != "GET" && request.peer.family != AF_UNIX) {
    return reply.send(text_response(403, "changes are taken over the Unix socket only"));
  }
  try {
    method->second(request, std::move(reply));
  } catch (const std::exception& error) {
    log_.line(sys::LogLevel::error, "admin_handler_failed")
        .field("path", request.target.path)
        .field("reason", error.what());
  }
}

}  // namespace ravelin::admin
