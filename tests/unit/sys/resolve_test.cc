#include <doctest/doctest.h>

#include <chrono>
#include <memory>

#include "sys/uv.h"

using namespace ravelin::sys;

namespace {

Result<std::vector<SocketAddress>> resolve(const std::string& host) {
  Loop loop;
  Result<std::vector<SocketAddress>> answer;
  std::unique_ptr<Resolve> request;
  request = std::make_unique<Resolve>(loop, host, std::uint16_t{443}, [&](Result<std::vector<SocketAddress>> found) {
    answer = std::move(found);
    request.reset();
  });
  loop.run();
  return answer;
}

}  // namespace

TEST_CASE("a literal resolves to itself with the port asked for") {
  const auto answer = resolve("192.0.2.1");
  REQUIRE(answer);
  REQUIRE(answer->size() == 1);
  CHECK(answer->front().text() == "192.0.2.1:443");
}

TEST_CASE("a name that cannot be a name fails and says which") {
  const auto answer = resolve("no name");
  REQUIRE(!answer);
  CHECK(answer.error().text().starts_with("cannot resolve no name: "));
}

TEST_CASE("nobody waits for an answer that is not wanted any more") {
  const auto start = std::chrono::steady_clock::now();
  {
    Loop loop;
    const Resolve given_up(loop, "name-that-takes-its-time.invalid", 443, [](const auto&) { FAIL("not wanted"); });
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
}
