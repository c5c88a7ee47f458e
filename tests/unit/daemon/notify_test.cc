#include "daemon/notify.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sys/address.h"
#include "sys/unique_fd.h"

using namespace ravelin;

TEST_CASE("a service manager that listens is told, over abstract names too") {
  const std::string name = fmt::format("@ravelin-notify-test-{}", ::getpid());
  const sys::UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address{};
  const auto length = sys::unix_address(name, address);
  REQUIRE(length);
  REQUIRE(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), *length) == 0);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  daemon::notify("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  std::array<char, 64> bytes;
  const ssize_t got = ::recv(manager.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  REQUIRE(got > 0);
  CHECK(std::string_view(bytes.data(), static_cast<std::size_t>(got)) == "READY=1");
}

TEST_CASE("without a service manager nobody is told and nothing happens") {
  ::unsetenv("NOTIFY_SOCKET");
  daemon::notify("READY=1");
  ::setenv("NOTIFY_SOCKET", "@ravelin-nobody-is-here", 1);
  daemon::notify("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
}
