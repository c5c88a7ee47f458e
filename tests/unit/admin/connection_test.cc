// What bad, slow and many clients can do to the server: nothing.
#include "admin/connection.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "running_server.h"

using namespace ravelin;
using namespace admin::test;
using admin::Limits;
using admin::Reply;
using admin::Request;
using admin::Response;

namespace {

constexpr std::size_t kLarge = 8 << 20;
constexpr std::size_t kMedium = 512 << 10;  // more than a socket takes at once

void add_routes(RunningServer& running) {
  auto& server = running.server();
  server.route("GET", "/hello", [](const Request&) { return Response{.body = "hello"}; });
  server.route("GET", "/large", [](const Request&) { return Response{.body = std::string(kLarge, 'x')}; });
  server.route("GET", "/medium", [](const Request&) { return Response{.body = std::string(kMedium, 'x')}; });
  server.route("GET", "/connections",
               [&server](const Request&) { return Response{.body = fmt::format("<{}>", server.connections())}; });
  server.route("GET", "/turned_away",
               [&server](const Request&) { return Response{.body = std::to_string(server.turned_away())}; });
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

// Replies that a thread other than the loop's decides to complete.
struct Later {
  std::mutex lock;
  std::condition_variable arrived;
  std::optional<Reply> reply;
  sys::Async* answer = nullptr;

  void add_to(RunningServer& running) {
    answer = &running.on_loop([this] {
      const std::lock_guard guard(lock);
      if (reply) reply->send(Response{.body = "later"});
      reply.reset();
    });
    running.server().route("GET", "/later", [this](const Request&, Reply given) {
      const std::lock_guard guard(lock);
      reply.emplace(std::move(given));
      arrived.notify_all();
    });
    running.server().route("GET", "/wanted", [this](const Request&) {
      const std::lock_guard guard(lock);
      return Response{.body = reply && reply->wanted() ? "wanted" : "unwanted"};
    });
  }
  void wait() {
    std::unique_lock guard(lock);
    REQUIRE(arrived.wait_for(guard, kLong, [this] { return reply.has_value(); }));
  }
};

auto with(Later& later) {
  return [&later](RunningServer& running) {
    add_routes(running);
    later.add_to(running);
  };
}

}  // namespace

TEST_CASE("an answer may come later, while others are served") {
  Later later;
  RunningServer running(with(later));
  RawClient client(running.at_unix);
  client.send(get("/later"));
  later.wait();
  CHECK(body_of(say(running.at_unix, get("/hello"))) == "hello");
  CHECK(body_of(say(running.at_unix, get("/wanted"))) == "wanted");
  later.answer->send();
  CHECK(body_of(client.receive()) == "later");
}

TEST_CASE("an answer that does not come in time is 503, and one that comes after that goes nowhere") {
  Later later;
  RunningServer running(with(later), {.handler = 50ms});
  RawClient client(running.at_unix);
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(status_of(client.receive_until("no answer in time\n")) == 503);
  CHECK(body_of(say(running.at_unix, get("/wanted"))) == "unwanted");
  later.answer->send();
  client.send(get("/hello"));
  CHECK(body_of(client.receive()) == "hello");
}

TEST_CASE("an answer that outlives the server goes nowhere") {
  Later later;
  RunningServer running(with(later));
  RawClient client(running.at_unix);
  client.send(get("/later"));
  later.wait();
  running.stop();
  CHECK(!later.reply->wanted());
  later.reply->send(Response{.body = "later"});
  CHECK(client.receive().empty());
}

TEST_CASE("a client that dribbles its request is told 408 at the deadline, and nobody waits for it") {
  RunningServer running(add_routes, {.idle = 20s, .request = 300ms});
  RawClient slow(running.at_tcp);
  slow.send("GET /hello HTTP/1.1\r\n");
  CHECK(body_of(say(running.at_tcp, get("/hello"))) == "hello");
  CHECK(status_of(slow.receive()) == 408);
}

TEST_CASE("a client that says nothing is let go without a word") {
  RunningServer running(add_routes, {.idle = 100ms});
  for (const auto& at : {running.at_unix, running.at_tcp}) {
    RawClient silent(at);
    CHECK(silent.receive().empty());
  }
}

TEST_CASE("a client that keeps its connection after a refusal is let go") {
  RunningServer running(add_routes, {.parting = 100ms});
  RawClient client(running.at_tcp);
  client.send("nonsense\r\n\r\n");
  CHECK(status_of(client.receive()) == 400);
  while (client.send("more nonsense\r\n")) {
  }
}

TEST_CASE("a client that never reads a large answer holds up nobody") {
  RunningServer running(add_routes);
  RawClient deaf(running.at_tcp);
  deaf.send(get("/large"));
  CHECK(body_of(say(running.at_tcp, get("/large"))).size() == kLarge);
  CHECK(body_of(say(running.at_unix, get("/large"))).size() == kLarge);
}

TEST_CASE("a client that never reads a large answer is let go, and the rest of the answer forgotten") {
  RunningServer running(add_routes, {.taking = 100ms});
  RawClient deaf(running.at_tcp);
  deaf.send(get("/large"));
  pollfd entry{.fd = deaf.fd(), .events = POLLRDHUP, .revents = 0};
  REQUIRE(::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(kLong).count())) == 1);
  CHECK((entry.revents & (POLLERR | POLLHUP)) != 0);
}

TEST_CASE("answers that nobody takes are bounded together") {
  RunningServer running(add_routes, {.answer_bytes = 2 * kLarge});
  RawClient first(running.at_unix);
  RawClient second(running.at_unix);
  for (auto* client : {&first, &second}) {
    client->send(get("/large"));
    pollfd entry{.fd = client->fd(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(kLong).count())) == 1);
  }
  CHECK(status_of(say(running.at_unix, get("/large"))) == 503);
  CHECK(body_of(say(running.at_unix, get("/hello"))) == "hello");
  CHECK(body_of(first.receive()).size() == kLarge);
  CHECK(body_of(say(running.at_unix, get("/large"))).size() == kLarge);
}

TEST_CASE("of 200 clients at once as many are served as there is room, the others are told 503") {
  RunningServer running(add_routes, {.idle = kLong, .request = kLong});
  for (const auto& at : {running.at_unix, running.at_tcp}) {
    // Each begins its request at once, so none makes way for another.
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 200; ++i) {
      clients.push_back(std::make_unique<RawClient>(at));
      clients.back()->send("GET /hello HTTP/1.1\r\nConnection: close\r\n");
    }
    for (auto& client : clients) client->send("Host: x\r\n\r\n");
    std::size_t served = 0;
    std::size_t refused = 0;
    for (auto& client : clients) {
      const std::string answer = client->receive();
      if (status_of(answer) == 200) ++served;
      if (status_of(answer) == 503) ++refused;
    }
    CHECK(served == 64);
    CHECK(refused == 136);
  }
  CHECK(body_of(say(running.at_unix, get("/turned_away"))) == "272");
}

TEST_CASE("with every connection held by silent clients the next one still gets in") {
  RunningServer running(add_routes, {.connections = 8});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<RawClient>(running.at_unix));
  // A silent client is given one second before it has to make way.
  const auto until = std::chrono::steady_clock::now() + kLong;
  unsigned status = 0;
  while (status != 200 && std::chrono::steady_clock::now() < until) {
    status = status_of(say(running.at_unix, get("/hello")));
  }
  CHECK(status == 200);
}

TEST_CASE("clients that come and go in every way leave no connection and no descriptor behind") {
  { const RunningServer first(add_routes); }  // libuv opens descriptors that stay with the process's first loop
  const std::size_t before = open_descriptors();
  {
    RunningServer running(add_routes);
    for (int i = 0; i < 120; ++i) {
      RawClient client(i % 2 == 0 ? running.at_unix : running.at_tcp);
      if (i % 3 == 0) client.send("GET /me");
      if (i % 3 == 1) client.send(get("/medium"));
    }
    // Far below the idle deadline: each connection ends because its client has, not because its time is over.
    const auto until = std::chrono::steady_clock::now() + kLong;
    std::string left;
    while (left != "<1>" && std::chrono::steady_clock::now() < until) {
      left = body_of(say(running.at_unix, get("/connections")));
    }
    CHECK(left == "<1>");
  }
  CHECK(open_descriptors() == before);
}
