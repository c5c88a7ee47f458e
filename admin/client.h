// One question to an admin server, one answer; for ravelinctl and tests. Blocks the calling thread, never past the
// deadline.
//
//   const auto answer = ask(*Endpoint::parse("unix:/run/ravelin/redirector.sock"), {.target = "/sessions"}, 5s);
#pragma once

#include <chrono>
#include <string>

#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::admin {

struct Question {
  std::string method = "GET";
  std::string target = "/";  // path and query, escaped already
  std::string body;
};

struct Answer {
  unsigned status = 0;
  std::string content_type;
  std::string body;
};

// Fails if there is no whole answer: nobody listens (ECONNREFUSED, ENOENT), no permission (EACCES), no answer in time
// (ETIMEDOUT), or something that is not HTTP (EPROTO). A status such as 404 is an answer. The endpoint's host must be a
// literal address.
[[nodiscard]] sys::Result<Answer> ask(const sys::Endpoint& endpoint, const Question& question,
                                      std::chrono::milliseconds deadline);

// `text` as one value of a query: everything but letters, digits and "-._~" is escaped (RFC 3986, 2.3).
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace ravelin::admin
