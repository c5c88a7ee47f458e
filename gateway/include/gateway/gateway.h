// A gateway inside a program: it takes the PROXY header off the connections that edges forward, passes each one on to
// the program's own server over a local inner connection, and knows who is behind every inner connection.
//
//   #include <gateway/gateway.h>
//
//   void serve_through_a_gateway(MyServer& server) {
//     ravelin::gateway::Options options;
//     options.inner = "127.0.0.1:" + std::to_string(server.port());  // where this program's server listens
//     options.listeners.push_back({.address = ":8443", .trusted_edges = {"203.0.113.0/24"}});
//     auto gateway = ravelin::gateway::Gateway::start(options);
//     if (!gateway) throw std::runtime_error(gateway.error().what);
//     server.on_connection([&](const sockaddr* address, socklen_t length) {
//       const auto peer = (*gateway)->find_peer(address, length);
//       if (!peer) return log("somebody who did not come through the gateway");
//       log("client", peer->effective(), "through", peer->measured(), "session", peer->edge_session());
//     });
//     server.run();  // the gateway ends with its owner
//   }
//
// A Gateway has threads of its own and keeps nothing global: a program may have several. It installs no signal handler,
// and its threads take no signals. It raises the soft limit of open files to the hard one, because every session needs
// two.
#pragma once

#include <ppv2/address.h>
#include <ppv2/peer_map.h>
#include <ppv2/policy.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace ravelin::gateway {

enum class InnerHeader : std::uint8_t {
  none,  // the server finds its peer by the inner connection's address
  v1,    // in front of each connection: a v1 header with the effective address
  v2,    // a v2 header, with what was measured, what was claimed and the identifiers in the fields of ppv2/ravelin.h
};

struct ListenerOptions {
  std::string address;                          // "HOST:PORT", "[V6]:PORT", ":PORT" for both families, "unix:PATH"
  std::string name = {};                        // as logged; the address if empty
  ppv2::Policy policy = ppv2::Policy::sniff;    // see ppv2/policy.h
  std::vector<std::string> trusted_edges = {};  // "203.0.113.0/24": whose headers count
  ppv2::Untrusted untrusted = ppv2::Untrusted::mark;  // under sniff, what a header from anybody else does
  // Off for protocols in which the server speaks first. A client that sends no header is then let through when it has
  // been silent for `silence`.
  bool wait_for_client = true;
  std::chrono::milliseconds first_byte{
      30'000};  // from accept to the header and, with wait_for_client, a byte behind it
  std::chrono::milliseconds silence{3'000};
};

struct Options {
  std::vector<ListenerOptions> listeners;
  std::string inner;                            // "127.0.0.1:PORT", "[::1]:PORT", "unix:PATH" or "unix:@NAME"
  std::vector<std::string> inner_sources = {};  // "127.0.0.1", "127.0.0.2": each carries about 28,000 sessions
  InnerHeader inner_header = InnerHeader::none;
  unsigned loops = 1;              // threads that relay
  std::uint32_t max_sessions = 0;  // 0: what the limit of open files allows, a million at most
  int log_descriptor = 2;          // JSON lines; the caller's, to be kept open
};

// Who is behind an inner connection. A value: it may be kept after the connection has gone.
class Peer {
 public:
  explicit Peer(const ppv2::Peer& entry) noexcept : entry_(entry) {}

  // The machine that the bytes came from, as the outer socket showed it: an edge, or a client that came directly.
  [[nodiscard]] const ppv2::Address& measured() const noexcept { return entry_.peer; }
  // What the header said the client is. Anybody can write a header: see claim_trusted().
  [[nodiscard]] std::optional<ppv2::Address> claimed() const noexcept {
    return entry_.has_claim() ? std::optional(entry_.claimed_source) : std::nullopt;
  }
  // The claim came from an address within trusted_edges.
  [[nodiscard]] bool claim_trusted() const noexcept { return entry_.claim_trusted; }
  // The claimed address if the claim is trusted, else the measured one.
  [[nodiscard]] const ppv2::Address& effective() const noexcept { return entry_.effective(); }
  // What the edge calls itself and the session, as its header said; empty if it did not. The second is the `id` in the
  // edge's own log. As trustworthy as the claim.
  [[nodiscard]] std::string_view edge() const noexcept { return entry_.edge(); }
  [[nodiscard]] std::string_view edge_session() const noexcept { return entry_.unique_id(); }
  // When the gateway accepted the connection.
  [[nodiscard]] std::chrono::system_clock::time_point since() const noexcept {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(entry_.accepted_at));
  }
  [[nodiscard]] const ppv2::Peer& entry() const noexcept { return entry_; }

 private:
  ppv2::Peer entry_;
};

struct StartError {
  int code = 0;      // an errno value, or 0 when the options are at fault or the system had something too little
  std::string what;  // "cannot listen on 0.0.0.0:443: Permission denied"
};

class Gateway {
 public:
  // Returns when the listeners are open. After an error nothing is left behind. Throws nothing.
  [[nodiscard]] static tl::expected<std::unique_ptr<Gateway>, StartError> start(const Options& options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();  // resets the sessions that are left; to end gently, call drain() before

  // Stops accepting and waits until the last session has ended, or for `patience`; false if sessions are left. May be
  // called again, to go on waiting, and by several threads.
  bool drain(std::chrono::milliseconds patience);

  // Who is behind the inner connection that the server accepted from this address; for Unix sockets accept(2) must have
  // given the kernel's autobound name. Any thread, wait-free. Nothing means *unknown*, and never trusted: any process
  // on the machine can connect to the server directly. An entry exists from before the server can accept the connection
  // until the session ends.
  [[nodiscard]] std::optional<Peer> find_peer(const sockaddr* address, socklen_t length) const noexcept;
  // The same by the text that gRPC's ServerContext::peer() gives, "ipv4:127.0.0.1:41234", or "127.0.0.1:41234".
  [[nodiscard]] std::optional<Peer> find_peer(std::string_view peer) const noexcept;

  [[nodiscard]] std::vector<ppv2::Address> addresses() const;  // as bound: port 0 has become a port
  [[nodiscard]] std::size_t sessions() const noexcept;
  [[nodiscard]] std::size_t peers() const noexcept;  // entries that find_peer() knows

 private:
  class Running;
  explicit Gateway(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace ravelin::gateway
