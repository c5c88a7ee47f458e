#include "admin/listener.h"

#include "running_server.h"
#include "sys/descriptor.h"

using namespace ravelin;
using admin::Listener;
using namespace admin::test;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

}  // namespace

TEST_CASE("the socket file has the mode asked for, whatever the umask, and goes with its listener") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("s");
  for (const mode_t mask : {mode_t{0077}, mode_t{0000}}) {
    const mode_t before = ::umask(mask);
    const auto listener = Listener::open({.path = path}, 0660);
    ::umask(before);
    REQUIRE(listener);
    CHECK(mode_of(path) == 0660);
  }
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("an abstract socket has no file") {
  const std::string name = fmt::format("@ravelin-admin-test-{}", ::getpid());
  const auto listener = Listener::open({.path = name}, 0660);
  REQUIRE(listener);
  const RawClient client(listener->endpoint());
  CHECK(Listener::open({.path = name}, 0660).error().code == EADDRINUSE);
}

TEST_CASE("errors name the place and the reason") {
  const TemporaryDirectory directory;
  const auto missing = Listener::open({.path = directory.file("no/s")}, 0660);
  REQUIRE(!missing);
  CHECK(missing.error().code == ENOENT);
  CHECK(missing.error().text() ==
        fmt::format("cannot listen on unix:{}: No such file or directory", directory.file("no/s")));
  const auto first = Listener::open({.host = "127.0.0.1", .port = 0}, 0660);
  REQUIRE(first);
  const auto second = Listener::open(first->endpoint(), 0660);
  REQUIRE(!second);
  CHECK(second.error().code == EADDRINUSE);
}

TEST_CASE("a directory that may not be written to is a lack of permission") {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.file(""), std::filesystem::perms::owner_read);
  // Root is asked as somebody else; file access is checked against the thread's own filesystem ids.
  const bool is_root = ::geteuid() == 0;
  if (is_root) REQUIRE(::seteuid(65534) == 0);
  const auto listener = Listener::open({.path = directory.file("s")}, 0660);
  if (is_root) REQUIRE(::seteuid(0) == 0);
  std::filesystem::permissions(directory.file(""), std::filesystem::perms::owner_all);
  REQUIRE(!listener);
  CHECK(listener.error().code == EACCES);
  CHECK(sys::exit_for(listener.error()) == sys::Exit::no_permission);
}

TEST_CASE("TCP is for loopback only") {
  CHECK(Listener::open({.host = "::1", .port = 0}, 0660));
  for (const auto* text : {"0.0.0.0:0", ":0", "192.0.2.1:0", "[::]:0", "example.net:0"}) {
    CAPTURE(text);
    CHECK(!Listener::open(*sys::Endpoint::parse(text), 0660));
  }
}
