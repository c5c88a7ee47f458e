// What a client asked and what it is told, as handlers see it: values, no sockets, no HTTP syntax.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::admin {

// The part of a request that says what is asked for: "/sessions?origin=a%20b" with everything decoded.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;  // in the order written; a name may come twice

  // Takes the origin form and the absolute form (RFC 9112, 3.2.1 and 3.2.2). Refuses a malformed escape and an escaped
  // NUL.
  [[nodiscard]] static sys::Result<Target> parse(std::string_view text);
  // The first value of the name, if it was given.
  [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
};

struct Request {
  std::string method;  // as written; a HEAD request reaches the handler of GET as "GET"
  Target target;
  std::string body;
  sys::SocketAddress peer;  // AF_UNIX for a client of the Unix socket
};

struct Response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow;  // the methods that a 405 names
};

// A plain answer of one line.
[[nodiscard]] Response text_response(unsigned status, std::string_view line);

}  // namespace ravelin::admin
