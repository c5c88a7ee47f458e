#include "admin/client.h"

#include "running_server.h"

using namespace ravelin;
using namespace admin::test;
using admin::ask;
using admin::Request;
using admin::Response;

namespace {

void add_routes(RunningServer& running) {
  running.server().route("GET", "/echo", [](const Request& request) {
    return Response{.body = std::string(request.target.parameter("text").value_or(""))};
  });
  running.server().route("POST", "/body", [](const Request& request) { return Response{.body = request.body}; });
  running.server().route("GET", "/large", [](const Request&) { return Response{.body = std::string(8 << 20, 'x')}; });
}

// What a client makes of a server that says `bytes` and closes.
sys::Result<admin::Answer> made_of(const std::string& bytes) {
  auto listener = admin::Listener::open({.host = "127.0.0.1", .port = 0}, 0600);
  REQUIRE(listener);
  std::thread server([&] {
    pollfd entry{.fd = listener->fd(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, 10000);
    const sys::UniqueFd fd(::accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC));
    char buffer[4096];
    (void)::recv(fd.get(), buffer, sizeof buffer, 0);
    (void)::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  });
  auto answer = ask(listener->endpoint(), {}, kLong);
  server.join();
  return answer;
}

}  // namespace

TEST_CASE("a question is answered over both kinds of socket") {
  RunningServer running(add_routes);
  for (const auto& at : {running.at_unix, running.at_tcp}) {
    const auto answer = ask(at, {.target = "/echo?text=" + admin::escaped("a b&c=ä%")}, kLong);
    REQUIRE(answer);
    CHECK(answer->status == 200);
    CHECK(answer->body == "a b&c=ä%");
  }
}

TEST_CASE("a question may have a body, and a status is an answer") {
  RunningServer running(add_routes);
  CHECK(ask(running.at_unix, {.method = "POST", .target = "/body", .body = "text"}, kLong)->body == "text");
  CHECK(ask(running.at_unix, {.target = "/nothing"}, kLong)->status == 404);
  const auto head = ask(running.at_unix, {.method = "HEAD", .target = "/echo?text=abc"}, kLong);
  REQUIRE(head);
  CHECK(head->body.empty());
  const auto refused =
      ask(running.at_unix, {.method = "POST", .target = "/body", .body = std::string(4 << 20, 'x')}, kLong);
  REQUIRE(refused);
  CHECK(refused->status == 413);
}

TEST_CASE("a large answer arrives whole") {
  RunningServer running(add_routes);
  const auto answer = ask(running.at_unix, {.target = "/large"}, kLong);
  REQUIRE(answer);
  CHECK(answer->body.size() == 8 << 20);
}

TEST_CASE("a server that is not there is an error that says so") {
  const TemporaryDirectory directory;
  const auto answer = ask({.path = directory.file("none")}, {}, kLong);
  REQUIRE(!answer);
  CHECK(answer.error().text() == fmt::format("unix:{}: connect: No such file or directory", directory.file("none")));
  auto gone = admin::Listener::open({.host = "127.0.0.1", .port = 0}, 0600)->endpoint();
  CHECK(ask(gone, {}, kLong).error().code == ECONNREFUSED);
}

TEST_CASE("a server that does not answer is given up at the deadline") {
  const TemporaryDirectory directory;
  const auto listener = admin::Listener::open({.path = directory.file("s")}, 0600);
  REQUIRE(listener);
  const auto answer = ask(listener->endpoint(), {}, 50ms);
  REQUIRE(!answer);
  CHECK(answer.error().code == ETIMEDOUT);
}

TEST_CASE("an answer that is cut off or no HTTP is an error") {
  CHECK(made_of("").error().code == EPROTO);
  CHECK(made_of("SSH-2.0-x\r\n").error().code == EPROTO);
  CHECK(made_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").error().code == EPROTO);
  CHECK(made_of("HTTP/1.1 200 OK\r\n\r\nuntil the end")->body == "until the end");
}
