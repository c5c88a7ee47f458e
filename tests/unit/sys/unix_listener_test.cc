#include "sys/unix_listener.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>

#include "sys/address.h"

using namespace ravelin::sys;

namespace {

// A directory that goes with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ravelin-sys-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

UniqueFd bound_to(const std::string& path) {
  sockaddr_storage address{};
  const auto length = unix_address(path, address);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), *length) == 0);
  return fd;
}

// A socket file whose process is gone.
void leave_stale_socket(const std::string& path) {
  static_cast<void>(bound_to(path));
}

UniqueFd client_of(const std::string& path) {
  sockaddr_storage address{};
  const auto length = unix_address(path, address);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), *length) == 0);
  return fd;
}

}  // namespace

TEST_CASE("the socket file of a dead process is replaced, and goes with the new one") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("s");
  leave_stale_socket(path);
  {
    const auto listener = listen_on_unix(path, 1);
    REQUIRE(listener);
    static_cast<void>(client_of(path));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a path that somebody answers on is left alone") {
  const TemporaryDirectory directory;
  const auto first = listen_on_unix(directory.file("s"), 8);
  REQUIRE(first);
  const auto second = listen_on_unix(directory.file("s"), 8);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == EADDRINUSE);
  static_cast<void>(client_of(directory.file("s")));
}

TEST_CASE("a path whose owner is too busy to answer is left alone") {
  const TemporaryDirectory directory;
  const UniqueFd busy = bound_to(directory.file("s"));
  REQUIRE(::listen(busy.get(), 0) == 0);
  const UniqueFd waiting = client_of(directory.file("s"));  // fills the backlog
  const auto listener = listen_on_unix(directory.file("s"), 1);
  REQUIRE_FALSE(listener);
  CHECK(listener.error().code == EADDRINUSE);
}

TEST_CASE("a file that is no socket is never replaced") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("precious");
  std::ofstream(path) << "data";
  std::filesystem::create_symlink(path, directory.file("link"));
  for (const auto* name : {"precious", "link"}) {
    const auto listener = listen_on_unix(directory.file(name), 1);
    REQUIRE_FALSE(listener);
    CHECK(listener.error().code == EEXIST);
  }
  CHECK(std::filesystem::file_size(path) == 4);
}

TEST_CASE("a socket file that somebody else put in place is not removed") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("s");
  {
    const auto listener = listen_on_unix(path, 1);
    REQUIRE(listener);
    std::filesystem::rename(path, directory.file("moved"));
    leave_stale_socket(path);
  }
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("the file has the mode that was asked for, whatever the umask") {
  const TemporaryDirectory directory;
  const mode_t before = ::umask(0077);
  const auto asked = listen_on_unix(directory.file("asked"), 1, 0660);
  const auto left = listen_on_unix(directory.file("left"), 1);
  ::umask(before);
  using std::filesystem::perms;
  CHECK(std::filesystem::status(directory.file("asked")).permissions() ==
        (perms::owner_read | perms::owner_write | perms::group_read | perms::group_write));
  CHECK(std::filesystem::status(directory.file("left")).permissions() == perms::owner_all);
}
