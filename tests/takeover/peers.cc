#include "peers.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <array>
#include <chrono>
#include <cstring>

#include "relay/socket.h"

namespace ravelin::takeover {
namespace {

constexpr std::size_t kChunk = 32 << 10;
constexpr std::size_t kFixedHeader = 16;  // of PROXY v2, which says how much follows

std::uint8_t byte_at(std::uint32_t session, std::uint64_t position) {
  std::uint64_t x = position + session * 0x9e3779b97f4a7c15ULL;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::uint8_t>(x >> 32);
}

}  // namespace

struct Peers::Client {
  sys::UniqueFd fd;
  std::uint32_t number = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  bool done = false;
  // Every fourth client reads one small piece at a time.
  [[nodiscard]] std::size_t appetite() const { return number % 4 == 0 ? 2048 : kChunk; }
};

struct Peers::Echo {
  sys::UniqueFd fd;
  std::array<std::uint8_t, 512> header{};
  std::size_t header_read = 0;
  std::size_t header_size = kFixedHeader;
  std::vector<std::uint8_t> held;  // read and not written back yet
  bool ended = false;
  bool closed = false;
};

Peers::Peers(std::size_t sessions, std::uint64_t bytes) : bytes_(bytes) {
  auto listener = relay::listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 1024);
  REQUIRE(listener);
  listener_ = std::move(*listener);
  origin_address_ = *sys::SocketAddress::local_of(listener_.get());
  for (std::size_t i = 0; i < sessions; ++i) {
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->number = static_cast<std::uint32_t>(i);
  }
}

Peers::~Peers() {
  stop();
}

void Peers::start(const sys::SocketAddress& edge) {
  for (const auto& client : clients_) {
    client->fd = sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage{};
    const socklen_t length = edge.to(storage);
    REQUIRE(::connect(client->fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0);
    ::fcntl(client->fd.get(), F_SETFL, O_NONBLOCK);
  }
  thread_ = std::thread([this] { run(); });
}

void Peers::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

// Every socket is tried in every round: slow, and without a single assumption about readiness.
void Peers::run() {
  while (!stopping_) {
    const std::uint64_t before = received_.load();
    accept();
    for (const auto& echo : echoes_) {
      if (!echo->closed) serve(*echo);
    }
    for (const auto& client : clients_) {
      if (!client->done) serve(*client);
    }
    if (received_.load() == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Peers::accept() {
  for (;;) {
    sys::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    echoes_.push_back(std::make_unique<Echo>());
    echoes_.back()->fd = std::move(fd);
  }
}

void Peers::fault(std::string what) {
  if (broken_.fetch_add(1) == 0) first_fault_ = std::move(what);
}

void Peers::serve(Client& client) {
  std::array<std::uint8_t, kChunk> buffer;
  if (client.sent < bytes_) {
    const std::size_t want = std::min<std::uint64_t>(kChunk, bytes_ - client.sent);
    for (std::size_t i = 0; i < want; ++i) buffer[i] = byte_at(client.number, client.sent + i);
    const ssize_t sent = ::send(client.fd.get(), buffer.data(), want, MSG_NOSIGNAL);
    if (sent > 0) client.sent += static_cast<std::uint64_t>(sent);
    if (client.sent == bytes_) ::shutdown(client.fd.get(), SHUT_WR);
  }
  const ssize_t got = ::recv(client.fd.get(), buffer.data(), client.appetite(), 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    client.done = true;
    if (got == 0 && client.received == bytes_) {
      ++finished_;
    } else {
      fault(fmt::format("client {} ended after {} of {} bytes: {}", client.number, client.received, bytes_,
                        got == 0 ? "end of stream" : std::strerror(errno)));
    }
    return;
  }
  for (ssize_t i = 0; i < got; ++i) {
    if (buffer[static_cast<std::size_t>(i)] == byte_at(client.number, client.received + static_cast<std::uint64_t>(i)))
      continue;
    client.done = true;
    return fault(fmt::format("client {} got a wrong byte at {}", client.number,
                             client.received + static_cast<std::uint64_t>(i)));
  }
  client.received += static_cast<std::uint64_t>(got);
  received_ += static_cast<std::uint64_t>(got);
}

void Peers::serve(Echo& echo) {
  while (echo.header_read < echo.header_size) {
    const ssize_t got =
        ::recv(echo.fd.get(), echo.header.data() + echo.header_read, echo.header_size - echo.header_read, 0);
    if (got <= 0) return;
    echo.header_read += static_cast<std::size_t>(got);
    if (echo.header_read == kFixedHeader) echo.header_size = kFixedHeader + echo.header[14] * 256U + echo.header[15];
  }
  if (echo.held.empty() && !echo.ended) {
    echo.held.resize(kChunk);
    const ssize_t got = ::recv(echo.fd.get(), echo.held.data(), echo.held.size(), 0);
    echo.held.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    echo.ended = got == 0;
    if (got < 0 && errno != EAGAIN) {
      echo.closed = true;
      return fault(fmt::format("origin: {}", std::strerror(errno)));
    }
  }
  if (!echo.held.empty()) {
    const ssize_t sent = ::send(echo.fd.get(), echo.held.data(), echo.held.size(), MSG_NOSIGNAL);
    if (sent > 0) echo.held.erase(echo.held.begin(), echo.held.begin() + sent);
  }
  if (echo.held.empty() && echo.ended) {
    echo.closed = true;
    ::shutdown(echo.fd.get(), SHUT_WR);
  }
}

}  // namespace ravelin::takeover
