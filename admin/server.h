// The admin server of a daemon: a small HTTP/1.1 server on the control loop, for operators and scrapers on this
// machine.
//
//   AdminServer server(loop, log);
//   server.route("GET", "/origins", [&](const Request&) { return json_response(origins()); });
//   server.route("GET", "/sessions", [&](const Request&, Reply reply) { ask_the_loops(std::move(reply)); });
//   if (auto at = server.listen(*Endpoint::parse("unix:/run/ravelin/redirector.sock")); !at) ...
//
// Everything happens on the loop's thread, handlers included. What it keeps for clients is bounded by Limits, and no
// client delays another one or the loop. HEAD is answered wherever GET is. Whatever is not a GET may change something,
// so it is taken over the Unix socket only, where the file's mode says who may connect. A handler that throws has
// answered 500.
//
// Not to be destroyed from within a handler.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "admin/connection.h"
#include "admin/limits.h"
#include "admin/listener.h"
#include "admin/message.h"
#include "admin/reply.h"
#include "sys/log.h"
#include "sys/uv.h"

namespace ravelin::admin {

using Handler = std::function<void(const Request&, Reply)>;
using PlainHandler = std::function<Response(const Request&)>;

class AdminServer {
 public:
  static constexpr mode_t kSocketMode = 0660;

  AdminServer(sys::Loop& loop, sys::Log& log, const Limits& limits = {});
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;
  ~AdminServer();

  // May be called for several endpoints. Returns where it listens: the endpoint with the port that was bound.
  [[nodiscard]] sys::Result<sys::Endpoint> listen(const sys::Endpoint& endpoint, mode_t mode = kSocketMode);

  // The whole path must match. A second handler for the same method and path takes the place of the first.
  void route(const std::string& method, const std::string& path, Handler handler);
  void route(const std::string& method, const std::string& path, PlainHandler handler);

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  // Clients that were told 503 because all connections were in use.
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_; }

 private:
  struct Door {
    explicit Door(Listener from) : listener(std::move(from)) {}
    Listener listener;
    std::optional<sys::Poll> poll;
  };

  void accept_from(const Listener& listener);
  void admit(sys::UniqueFd fd, const sys::SocketAddress& peer);
  void turn_away(sys::UniqueFd fd);
  [[nodiscard]] bool make_room();
  void pause_accepting(int error);
  void serve(const Request& request, Reply reply);
  [[nodiscard]] std::string pages() const;

  sys::Log& log_;
  ConnectionContext context_;
  std::map<std::string, std::map<std::string, Handler>> routes_;  // path, method
  std::list<Door> doors_;
  sys::Timer resume_;  // opens the doors again after a lack of descriptors
  std::uint64_t turned_away_ = 0;
  bool full_ = false;  // said in the log
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
};

}  // namespace ravelin::admin
