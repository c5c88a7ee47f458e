// Turns the bytes of a connection into requests, one after the other. No I/O: the owner brings bytes and keeps those
// that were not consumed. Strict about syntax (RFC 9112) and bounded: a header or body over its limit is refused before
// it is kept. One reader belongs to one connection.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "admin/message.h"

namespace ravelin::admin {

class RequestReader {
 public:
  enum class State {
    need_more,  // the request is not complete
    complete,   // `method()` and so on may be read; start over with `next()`
    refused,    // answer `status` and close: where the next request begins is not known
  };
  struct Step {
    State state = State::need_more;
    std::size_t consumed = 0;
    unsigned status = 0;
    std::string why;
  };

  RequestReader(std::size_t header_limit, std::size_t body_limit);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  [[nodiscard]] Step feed(std::string_view bytes);
  void next();

  [[nodiscard]] std::string_view method() const;
  [[nodiscard]] std::string_view target() const;
  [[nodiscard]] std::string take_body();
  // True until the client or its version of HTTP says that this request is the last one.
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] bool is_http_1_0() const;
  // True once, when the client holds its body back until it is told to go on (RFC 9110, 10.1.1).
  [[nodiscard]] bool take_expectation();

 private:
  struct Parser;

  std::size_t header_limit_;
  std::size_t body_limit_;
  std::unique_ptr<Parser> parser_;
  bool expectation_seen_ = false;
};

}  // namespace ravelin::admin
