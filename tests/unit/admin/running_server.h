// An admin server on a thread of its own, and a client that sends raw bytes.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>

#include "admin/server.h"
#include "sys/unique_fd.h"

namespace ravelin::admin::test {

using namespace std::chrono_literals;

inline constexpr auto kLong = 60s;  // the deadline of every wait: reached only when something is broken

// A directory that goes with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "ravelin-admin-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

class RunningServer {
 public:
  // `prepare` adds routes; it runs before the thread starts.
  explicit RunningServer(const std::function<void(RunningServer&)>& prepare, const Limits& limits = {})
      : log_(sys::LogFormat::json, sys::LogLevel::error, nowhere_.get()),
        stop_(loop_, [this] { loop_.stop(); }),
        server_(std::in_place, loop_, log_, limits) {
    prepare(*this);
    const auto unix_side = server_->listen({.path = directory_.file("admin.sock")});
    const auto tcp_side = server_->listen({.host = "127.0.0.1", .port = 0});
    REQUIRE(unix_side);
    REQUIRE(tcp_side);
    at_unix = *unix_side;
    at_tcp = *tcp_side;
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~RunningServer() { stop(); }
  // Ends the thread and the server; the loop stays.
  void stop() {
    if (!thread_.joinable()) return;
    stop_.send();
    thread_.join();
    server_.reset();
  }
  // Something to do on the loop's thread whenever it is sent. From `prepare` only.
  sys::Async& on_loop(std::function<void()> action) { return actions_.emplace_back(loop_, std::move(action)); }
  AdminServer& server() { return *server_; }

  sys::Endpoint at_unix;
  sys::Endpoint at_tcp;

 private:
  TemporaryDirectory directory_;
  sys::UniqueFd nowhere_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  sys::Log log_;
  sys::Loop loop_;
  sys::Async stop_;
  std::list<sys::Async> actions_;
  std::optional<AdminServer> server_;
  std::thread thread_;
};

class RawClient {
 public:
  explicit RawClient(const sys::Endpoint& endpoint) {
    sockaddr_storage storage{};
    const socklen_t length =
        endpoint.is_unix() ? *sys::unix_address(endpoint.path, storage) : endpoint.literal()->to(storage);
    fd_.reset(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0);
    REQUIRE(::fcntl(fd_.get(), F_SETFL, O_NONBLOCK) == 0);
  }

  // False once the server has closed its side.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN || !wait(POLLOUT)) {
        return false;
      }
    }
    return true;
  }
  void finish() { ::shutdown(fd_.get(), SHUT_WR); }

  // Everything up to the end of the stream, or what arrived before `enough` was satisfied.
  std::string receive(const std::function<bool(const std::string&)>& enough = {}) {
    std::string text;
    char buffer[65536];
    while (!enough || !enough(text)) {
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got > 0) {
        text.append(buffer, static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EAGAIN || !wait(POLLIN)) {
        break;
      }
    }
    return text;
  }
  std::string receive_until(std::string_view ending) {
    return receive([&](const std::string& text) { return text.ends_with(ending); });
  }
  // True when the server ends the connection before the long deadline.
  bool is_closed() {
    char byte = 0;
    while (wait(POLLIN)) {
      const ssize_t got = ::recv(fd_.get(), &byte, 1, 0);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return true;
    }
    return false;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  bool wait(short events) {
    pollfd entry{.fd = fd_.get(), .events = events, .revents = 0};
    return ::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(kLong).count())) == 1;
  }
  sys::UniqueFd fd_;
};

inline std::string say(const sys::Endpoint& endpoint, std::string_view request) {
  RawClient client(endpoint);
  client.send(request);
  return client.receive();
}

inline unsigned status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? static_cast<unsigned>(std::stoul(answer.substr(9, 3))) : 0;
}

inline std::string body_of(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == std::string::npos ? std::string() : answer.substr(end + 4);
}

inline std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace ravelin::admin::test
