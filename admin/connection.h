// One client of the admin server: reads a request, has it served, writes the answer, and starts over. Holds one request
// and one answer at a time; what a client sends ahead waits in a fixed buffer, and then in the kernel. Every phase has
// its deadline, and a wake-up does one read, one request or one write, so no client can hold up the loop.
//
// Lives on the server's loop thread. The server keeps it until `closed` is called; a Reply knows it weakly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/limits.h"
#include "admin/message.h"
#include "admin/reply.h"
#include "admin/request_reader.h"
#include "sys/log.h"
#include "sys/unique_fd.h"
#include "sys/uv.h"

namespace ravelin::admin {

// What all connections of a server share. Outlives them.
struct ConnectionContext {
  sys::Loop& loop;
  sys::Log& log;
  const Limits limits;
  std::size_t answer_bytes = 0;  // kept for clients that have not taken them yet
  std::function<void(const Request&, Reply)> serve;
  std::function<void(const Connection&)> closed;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionContext& context, sys::UniqueFd fd, const sys::SocketAddress& peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Answers the request of this number, unless it was answered already.
  void answer(std::uint64_t exchange, Response response);
  [[nodiscard]] bool awaits(std::uint64_t exchange) const;
  // Since when the client wants nothing (uv_now's clock); nothing while it is being served.
  [[nodiscard]] std::optional<std::uint64_t> spare_since() const;
  void close();

 private:
  enum class Phase {
    reading,    // waits for a request or for the rest of it
    handling,   // waits for the Reply
    answering,  // waits for the client to take the answer
    parting,    // has said its last; waits for the client to close
    closed,
  };

  void on_ready(int status, int events);
  void on_deadline();
  void enter(Phase phase, std::chrono::milliseconds deadline);
  void receive();
  void read_request();
  void serve_request();
  void refuse(unsigned status, std::string_view why);
  void write_answer();
  void after_answer();
  void part();
  void discard();
  void abandon();
  void forget_answer();

  ConnectionContext& context_;
  sys::UniqueFd fd_;
  std::optional<sys::Poll> poll_;
  std::optional<sys::Timer> timer_;
  sys::SocketAddress peer_;
  Phase phase_ = Phase::reading;
  std::uint64_t phase_since_ = 0;
  std::uint64_t exchange_ = 0;
  RequestReader reader_;
  std::vector<char> input_;     // as large as it may become
  std::size_t input_size_ = 0;  // of it waiting to be parsed
  bool input_ended_ = false;    // the client sends no more
  bool request_begun_ = false;  // its first byte is here
  bool head_only_ = false;      // HEAD: the answer's body is measured and not sent
  bool close_after_ = false;    // this answer is the last
  std::string head_;
  std::string body_;
  std::size_t sent_ = 0;         // of head and body together
  std::size_t sent_before_ = 0;  // at the deadline before this one
  std::size_t counted_ = 0;      // of the answer in context_.answer_bytes
};

}  // namespace ravelin::admin
