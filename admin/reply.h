// The promise of one answer. A handler that knows the answer gives it at once; one that has to ask another thread moves
// the Reply along and gives it later. Whoever drops it without an answer has answered 500.
//
// May be moved through any thread, but is used and dropped on the server's loop thread only. It may outlive its client,
// the handler's deadline and the server: then the answer goes nowhere.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "admin/message.h"

namespace ravelin::admin {

class Connection;

class Reply {
 public:
  Reply(std::weak_ptr<Connection> connection, std::uint64_t exchange)
      : connection_(std::move(connection)), exchange_(exchange) {}
  Reply(Reply&& other) noexcept = default;  // leaves the other without a connection, so it answers nothing
  Reply& operator=(Reply&&) = delete;
  ~Reply();

  void send(Response response);
  // False once the client is gone or was told 503: the work need not be done.
  [[nodiscard]] bool wanted() const;

 private:
  std::weak_ptr<Connection> connection_;
  std::uint64_t exchange_;  // which of the connection's requests this answers
};

}  // namespace ravelin::admin
