// A session that is relaying over real connections, in a table of its own, with a pump to move its bytes.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <utility>

#include "relay/pump.h"
#include "relay/session_table.h"
#include "relay/socket.h"

namespace ravelin::relay {

// Both ends of a TCP connection through loopback. Ours does not block, as the engine's sockets do not.
struct Connection {
  sys::UniqueFd ours;
  sys::UniqueFd theirs;

  enum class By { them, us };
  explicit Connection(By connected) {
    const auto listener = listen_on(sys::SocketAddress::ipv4({127, 0, 0, 1}, 0), 1);
    REQUIRE(listener);
    sockaddr_storage address{};
    const socklen_t length = sys::SocketAddress::local_of(listener->get())->to(address);
    theirs = sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(theirs.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    pollfd ready{.fd = listener->get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    ours = sys::UniqueFd(::accept4(listener->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    REQUIRE(ours);
    if (connected == By::them) return;
    std::swap(ours, theirs);
    ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(theirs.get(), F_SETFL, 0);
  }

  // They say this, and it is here.
  void hear(std::string_view text) const {
    const std::uint64_t before = tcp_facts(ours.get(), false)->received;
    REQUIRE(::send(theirs.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    while (tcp_facts(ours.get(), false)->received < before + text.size()) ::poll(nullptr, 0, 1);
  }
  void wait_for(short events) const {
    pollfd ready{.fd = ours.get(), .events = events, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
  }
  // The next so many bytes that they are told.
  [[nodiscard]] std::string told(std::size_t size) const {
    std::string text(size, 0);
    return ::recv(theirs.get(), text.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size) ? text : "less";
  }
};

struct LiveSession {
  Connection client{Connection::By::them};
  Connection origin{Connection::By::us};
  SessionTable table = std::move(*SessionTable::create({.sessions = 1, .pipes = 4}));
  PipePool pipes{table, 0, 1, 1 << 20};
  Pump pump{pipes, table.buffer(0)};
  SessionRecord& record = table.record(0);

  LiveSession() {
    record.phase = Phase::relaying;
    record.client_fd = client.ours.get();
    record.origin_fd = origin.ours.get();
    record.client = record.origin_peer = sys::SocketAddress::ipv4({127, 0, 0, 1}, 1);
  }
  PumpResult run(Side from) { return pump.run(flow_from(record, from)); }
};

}  // namespace ravelin::relay
