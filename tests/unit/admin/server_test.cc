#include "admin/server.h"

#include <stdexcept>

#include "running_server.h"

using namespace ravelin;
using namespace admin::test;
using admin::Reply;
using admin::Request;
using admin::Response;

namespace {

void add_routes(RunningServer& running) {
  auto& server = running.server();
  server.route("GET", "/hello", [](const Request&) { return Response{.body = "hello"}; });
  server.route("GET", "/echo", [](const Request& request) {
    return Response{.body = std::string(request.target.parameter("text").value_or("nothing"))};
  });
  server.route("POST", "/body", [](const Request& request) { return Response{.body = request.body}; });
  server.route("GET", "/who", [](const Request& request) {
    return Response{.body = request.peer.family == AF_UNIX ? "unix" : request.peer.host()};
  });
  server.route("GET", "/broken", [](const Request&) -> Response { throw std::runtime_error("broken"); });
  server.route("GET", "/dropped", [](const Request&, Reply) {});
}

std::string get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}

const std::string kClose = "Connection: close\r\n";

}  // namespace

TEST_CASE("a request is answered over the Unix socket and over TCP") {
  RunningServer running(add_routes);
  for (const auto& at : {running.at_unix, running.at_tcp}) {
    const auto answer = say(at, get("/hello", kClose));
    CHECK(answer.starts_with("HTTP/1.1 200 OK\r\nDate: "));
    CHECK(answer.find("\r\nContent-Length: 5\r\n") != std::string::npos);
    CHECK(answer.find("\r\nConnection: close\r\n") != std::string::npos);
    CHECK(body_of(answer) == "hello");
  }
  CHECK(body_of(say(running.at_unix, get("/who", kClose))) == "unix");
  CHECK(body_of(say(running.at_tcp, get("/who", kClose))) == "127.0.0.1");
}

TEST_CASE("a client of HTTP/1.0 is answered and the connection closed") {
  RunningServer running(add_routes);
  CHECK(body_of(say(running.at_tcp, "GET /hello HTTP/1.0\r\n\r\n")) == "hello");
}

TEST_CASE("HEAD is answered like GET, without the body") {
  RunningServer running(add_routes);
  const auto answer = say(running.at_tcp, "HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(status_of(answer) == 200);
  CHECK(answer.find("\r\nContent-Length: 5\r\n") != std::string::npos);
  CHECK(body_of(answer).empty());
}

TEST_CASE("a connection serves one request after another") {
  RunningServer running(add_routes);
  RawClient client(running.at_tcp);
  for (int i = 0; i < 3; ++i) {
    client.send(get(fmt::format("/echo?text=number-{}", i)));
    CHECK(client.receive_until(fmt::format("number-{}", i)).find("\r\nConnection: keep-alive\r\n") !=
          std::string::npos);
  }
}

TEST_CASE("requests sent ahead are all answered, in their order") {
  RunningServer running(add_routes);
  std::string ahead;
  for (int i = 0; i < 500; ++i) ahead += get(fmt::format("/echo?text=<{}>", i));
  RawClient client(running.at_unix);
  client.send(ahead);
  client.finish();
  const auto answers = client.receive();
  CHECK(count_of(answers, "HTTP/1.1 200 OK") == 500);
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = answers.find(fmt::format("<{}>", i), at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("a request that comes byte by byte is answered") {
  RunningServer running(add_routes);
  RawClient client(running.at_tcp);
  for (const char byte : get("/hello", kClose)) client.send({&byte, 1});
  CHECK(body_of(client.receive()) == "hello");
}

TEST_CASE("a body reaches the handler, also when the client waits for the word to send it") {
  RunningServer running(add_routes);
  const std::string post = "POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n";
  CHECK(body_of(say(running.at_unix, post + "\r\nabcd")) == "abcd");
  RawClient client(running.at_unix);
  client.send(post + "Expect: 100-continue\r\n\r\n");
  CHECK(client.receive_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abcd");
  CHECK(body_of(client.receive()) == "abcd");
}

TEST_CASE("what is not here is 404, what is not served here is 405 and says what is") {
  RunningServer running(add_routes);
  CHECK(status_of(say(running.at_unix, get("/nothing", kClose))) == 404);
  CHECK(status_of(say(running.at_unix, get("/hello/", kClose))) == 404);
  const auto answer = say(running.at_unix, "DELETE /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(status_of(answer) == 405);
  CHECK(answer.find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
  CHECK(status_of(say(running.at_unix, get("/body", kClose))) == 405);
}

TEST_CASE("what may change something is taken over the Unix socket only") {
  RunningServer running(add_routes);
  const std::string post = "POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\na";
  CHECK(status_of(say(running.at_unix, post)) == 200);
  CHECK(status_of(say(running.at_tcp, post)) == 403);
}

TEST_CASE("a handler that throws or forgets to answer has answered 500, and the connection goes on") {
  RunningServer running(add_routes);
  for (const auto* path : {"/broken", "/dropped"}) {
    RawClient client(running.at_tcp);
    client.send(get(path));
    CHECK(status_of(client.receive_until("no answer was given\n")) == 500);
    client.send(get("/hello", kClose));
    CHECK(body_of(client.receive()) == "hello");
  }
}

TEST_CASE("a bad request is answered, and the connection closed") {
  RunningServer running(add_routes);
  CHECK(status_of(say(running.at_tcp, "\x16\x03\x01 not HTTP\r\n\r\n")) == 400);
  CHECK(status_of(say(running.at_tcp, "GET /hello HTTP/1.1\r\n\r\n")) == 400);
  CHECK(status_of(say(running.at_tcp, get("/%zz", kClose))) == 400);
}

TEST_CASE("a header of one megabyte is refused, and the client reads why") {
  RunningServer running(add_routes);
  for (const auto& at : {running.at_unix, running.at_tcp}) {
    RawClient client(at);
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\nA: " + std::string(1 << 20, 'a') + "\r\n\r\n");
    client.finish();
    CHECK(status_of(client.receive()) == 431);
  }
}

TEST_CASE("a body over the limit is refused before it is sent") {
  RunningServer running(add_routes);
  CHECK(status_of(say(running.at_unix, "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")) == 413);
}

TEST_CASE("a Unix path in use is an error that names it") {
  RunningServer running(add_routes);
  sys::Loop loop;
  sys::Log log;
  admin::AdminServer second(loop, log);
  const auto result = second.listen(running.at_unix);
  REQUIRE(!result);
  CHECK(result.error().text() == fmt::format("cannot listen on {}: Address already in use", running.at_unix.text()));
}
