#include "admin/request_reader.h"

#include <doctest/doctest.h>

using ravelin::admin::RequestReader;
using State = RequestReader::State;

namespace {

// The status that a request is refused with, 200 for one that is complete, 0 for one that is neither.
unsigned outcome_of(std::string_view bytes) {
  RequestReader reader(8192, 1024);
  const auto step = reader.feed(bytes);
  return step.state == State::refused ? step.status : step.state == State::complete ? 200 : 0;
}

}  // namespace

TEST_CASE("a request is the same whether it comes whole or byte by byte") {
  const std::string request = "POST /kill?id=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  RequestReader reader(8192, 1024);
  std::string waiting;
  for (std::size_t i = 0; i < request.size(); ++i) {
    waiting += request[i];
    const auto step = reader.feed(waiting);
    waiting.erase(0, step.consumed);
    CHECK(step.state == (i + 1 == request.size() ? State::complete : State::need_more));
  }
  CHECK(waiting.empty());
  CHECK(reader.method() == "POST");
  CHECK(reader.target() == "/kill?id=1");
  CHECK(reader.take_body() == "hello");
}

TEST_CASE("what follows a request is left for the next one") {
  RequestReader reader(8192, 1024);
  const std::string one = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto step = reader.feed(one + one);
  CHECK(step.state == State::complete);
  CHECK(step.consumed == one.size());
  reader.next();
  CHECK(reader.feed(one).state == State::complete);
}

TEST_CASE("a chunked body is put together") {
  RequestReader reader(8192, 1024);
  const auto step = reader.feed(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: t\r\n\r\n");
  CHECK(step.state == State::complete);
  CHECK(reader.take_body() == "abcdefg");
}

TEST_CASE("a connection stays only if the client's version and words say so") {
  const auto keeps = [](std::string_view bytes) {
    RequestReader reader(8192, 1024);
    REQUIRE(reader.feed(bytes).state == State::complete);
    return reader.keeps_alive();
  };
  CHECK(keeps("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  CHECK(!keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  CHECK(!keeps("GET / HTTP/1.0\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST_CASE("what is not a request is refused") {
  const std::string host = "Host: x\r\n";
  CHECK(outcome_of("GET / HTTP/1.1\r\n" + host + "\r\n") == 200);
  for (const auto& bytes : {
           std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
           std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
           std::string("GET\r\n\r\n"),
           std::string("GET /\r\n\r\n"),
           std::string("GET / HTTP/1.1\n\n"),
           std::string("GET  / HTTP/1.1\r\n\r\n"),
           std::string("GET /a b HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           "GET / HTTP/1.1\r\n" + host + host + "\r\n",
           "GET / HTTP/1.1\r\n" + host + "No colon\r\n\r\n",
           "GET / HTTP/1.1\r\n" + host + "Blank : x\r\n\r\n",
           "GET / HTTP/1.1\r\n" + host + "A: \x01\r\n\r\n",
           "GET / HTTP/1.1\r\n" + host + std::string("A: \0\r\n\r\n", 8),
           "POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n",
           "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\na",
           "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n",
           "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
           "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
           "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
       }) {
    CAPTURE(bytes);
    CHECK(outcome_of(bytes) == 400);
  }
}

TEST_CASE("headers and bodies over their limit are refused by name") {
  const std::string start = "POST / HTTP/1.1\r\nHost: x\r\n";
  CHECK(outcome_of(start + "A: " + std::string(9000, 'a') + "\r\n\r\n") == 431);
  CHECK(outcome_of("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n") == 431);
  CHECK(outcome_of(start + "Content-Length: 1025\r\n\r\n") == 413);
  CHECK(outcome_of(start + "Content-Length: 1024\r\n\r\n" + std::string(1024, 'a')) == 200);
  CHECK(outcome_of(start + "Transfer-Encoding: chunked\r\n\r\n401\r\n" + std::string(1025, 'a') + "\r\n0\r\n\r\n") ==
        413);
}

TEST_CASE("a client that waits to be told to send its body is noticed once") {
  RequestReader reader(8192, 1024);
  CHECK(reader.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n").state ==
        State::need_more);
  CHECK(reader.take_expectation());
  CHECK(!reader.take_expectation());
  CHECK(reader.feed("a").state == State::complete);
  CHECK(!reader.take_expectation());
}
