#include <ppv2/peer_map.h>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <string>
#include <thread>
#include <vector>

using ppv2::Address;
using ppv2::Peer;
using ppv2::PeerMap;

namespace {

Address address(std::string_view text) {
  const auto parsed = Address::parse(text);
  REQUIRE(parsed);
  return *parsed;
}

Peer peer_of(std::string_view text) {
  return Peer{.peer = address(text), .local = address("198.51.100.1:443")};
}

class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) { REQUIRE(fd_ >= 0); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

TEST_CASE("a server finds who is behind an inner connection, before that has been connected") {
  PeerMap map;
  for (const char* const source : {"127.0.0.1:0", "127.0.0.2:0", "[::1]:0"}) {
    CAPTURE(source);
    const Address host = address(source);
    const Socket socket(host.family == ppv2::Family::inet ? AF_INET : AF_INET6);
    const auto guard = map.bind_and_put(socket.fd(), host, peer_of("203.0.113.7:5000"));
    if (!guard && guard.error() == EADDRNOTAVAIL) continue;  // a machine without IPv6
    REQUIRE(guard);
    sockaddr_storage name;
    socklen_t length = sizeof name;
    REQUIRE(getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &length) == 0);
    const auto found = map.find(reinterpret_cast<sockaddr*>(&name), length);
    REQUIRE(found);
    CHECK(found->peer == address("203.0.113.7:5000"));
    CHECK(map.find(guard.key()));
  }
  CHECK(map.size() == 0);
}

TEST_CASE("an inner Unix connection is found by the name the kernel gave it") {
  PeerMap map;
  const Socket socket(AF_UNIX);
  auto guard = map.bind_and_put(socket.fd(), {.family = ppv2::Family::unix_domain}, peer_of("203.0.113.7:5000"));
  REQUIRE(guard);
  char text[ppv2::kAddressTextSize];
  const std::string name(guard.key().text(text).substr(1));
  CHECK(name.size() == 5);
  CHECK(map.find_grpc("unix-abstract:" + name));
  CHECK(map.find_grpc("unix:@" + name));
  CHECK(map.find_grpc("unix:%00" + name));
  CHECK(!map.find_grpc("unix:" + name));
  CHECK(!map.find_grpc("unix:/run/x"));
  guard.erase();
  CHECK(!map.find_grpc("unix-abstract:" + name));
}

TEST_CASE("gRPC's peer strings name entries") {
  PeerMap map;
  const auto v4 = map.put(address("127.0.0.1:41234"), peer_of("203.0.113.7:1"));
  const auto v6 = map.put(address("[::1]:41234"), peer_of("[2001:db8::7]:2"));
  CHECK(map.find_grpc("ipv4:127.0.0.1:41234")->peer.port == 1);
  CHECK(map.find_grpc("ipv6:%5B::1%5D:41234")->peer.port == 2);
  CHECK(map.find_grpc("ipv6:[::1]:41234")->peer.port == 2);
  // A dual-stack listener sees the IPv4 hop as mapped.
  CHECK(map.find_grpc("ipv6:%5B::ffff:127.0.0.1%5D:41234")->peer.port == 1);
  for (const char* const unknown :
       {"", "ipv4:", "ipv4:127.0.0.1:41235", "ipv4:127.0.0.1", "ipv6:127.0.0.1:41234", "unix:", "ipv4:%", "ipv4:%zz",
        "dns:x", "ipv4:[::1]:41234", "unix-abstract:xyzzy", "unix:@"}) {
    CAPTURE(unknown);
    CHECK(!map.find_grpc(unknown));
  }
  CHECK(!map.find_grpc(std::string(1000, '%')));
}

TEST_CASE("an address that was not entered is unknown") {
  PeerMap map;
  CHECK(!map.find(address("127.0.0.1:1")));
  const auto guard = map.put(address("127.0.0.1:1"), peer_of("203.0.113.7:1"));
  CHECK(!map.find(address("127.0.0.1:2")));
  CHECK(!map.find(address("127.0.0.2:1")));
  CHECK(!map.find(nullptr, 0));
  CHECK(!map.find(Address{}));
}

TEST_CASE("a late erase leaves the entry that took its place") {
  PeerMap map;
  const Address key = address("127.0.0.1:4000");
  auto old = map.put(key, peer_of("203.0.113.7:1"));
  auto young = map.put(key, peer_of("203.0.113.8:2"));
  CHECK(map.size() == 1);
  old.erase();
  CHECK(map.find(key)->peer.port == 2);
  // The old slot serves another key meanwhile: still nothing of it may be erased.
  young.erase();
  CHECK(!map.find(key));
  CHECK(map.size() == 0);
}

TEST_CASE("a guard that moves goes on holding its entry") {
  PeerMap map;
  const Address key = address("127.0.0.1:4000");
  PeerMap::Guard outer;
  {
    PeerMap::Guard inner = map.put(key, peer_of("203.0.113.7:1"));
    outer = std::move(inner);
  }
  CHECK(map.find(key));
  outer = PeerMap::Guard();
  CHECK(!map.find(key));
}

TEST_CASE("an entry may linger until its address is used again") {
  PeerMap map;
  const Address key = address("127.0.0.1:4000");
  map.put(key, peer_of("203.0.113.7:1")).linger();
  CHECK(map.find(key));
  { const auto next = map.put(key, peer_of("203.0.113.7:2")); }
  CHECK(!map.find(key));
}

TEST_CASE("what cannot be a key is refused with its reason") {
  PeerMap map;
  for (const Address key : {Address{}, address("127.0.0.1:0"), address("@xyz"), address("@000FF"), address("@0000g")})
    CHECK(map.put(key, Peer{}).error() == EINVAL);
  const Socket socket(AF_INET);
  CHECK(map.bind_and_put(socket.fd(), address("203.0.113.1:0"), Peer{}).error() == EADDRNOTAVAIL);
  std::vector<PeerMap::Guard> guards;
  for (std::uint8_t host = 0; host < PeerMap::kMaxSpaces; ++host) {
    guards.push_back(map.put(Address::ipv4({127, 1, 0, host}, 9), Peer{}));
    CHECK(guards.back());
  }
  CHECK(map.put(Address::ipv4({127, 2, 0, 1}, 9), Peer{}).error() == ENOSPC);
  CHECK(map.size() == PeerMap::kMaxSpaces);
}

TEST_CASE("a claim stands for the peer only if its sender is trusted") {
  Peer peer = peer_of("10.0.0.1:1");
  CHECK(peer.effective() == peer.peer);
  peer.claimed_source = address("203.0.113.7:9");
  CHECK(peer.effective() == peer.peer);
  peer.claim_trusted = true;
  CHECK(peer.effective() == peer.claimed_source);
  CHECK(peer.set_unique_id(std::string(128, 'u')));
  CHECK(!peer.set_unique_id(std::string(129, 'u')));
  CHECK(peer.unique_id().size() == 128);
  CHECK(peer.set_edge("edge-a"));
  CHECK(!peer.set_edge(std::string(65, 'e')));
  CHECK(peer.edge() == "edge-a");
}

TEST_CASE("readers and writers on the same keys never meet half an entry") {
  PeerMap map;
  constexpr int kRounds = 20000;
  constexpr std::uint16_t kPorts = 4;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> found{0};
  std::atomic<std::uint64_t> torn{0};
  const auto key = [](unsigned i) {
    return Address::ipv4({127, 0, 0, 1}, static_cast<std::uint16_t>(1000 + i % kPorts));
  };
  const auto write = [&](unsigned seed) {
    for (unsigned i = 0; i < kRounds; ++i) {
      Peer peer;
      peer.peer = key(i + seed);
      peer.accepted_at = static_cast<std::int64_t>(i);
      peer.set_unique_id(std::string(128, static_cast<char>('a' + i % 26)));
      auto guard = map.put(peer.peer, peer);
      if (i % 3 == 0) map.put(key(i + seed + 1), Peer{.peer = key(i + seed + 1)}).linger();
    }
  };
  // Each reader has met every key once before the first writer touches them.
  for (unsigned i = 0; i < kPorts; ++i) map.put(key(i), Peer{.peer = key(i)}).linger();
  std::latch readers_look(2);
  const auto read = [&] {
    for (unsigned i = 0; !done.load(std::memory_order_relaxed); ++i) {
      if (i == kPorts) readers_look.count_down();
      const auto peer = map.find(key(i));
      if (!peer) continue;
      found.fetch_add(1, std::memory_order_relaxed);
      bool whole = peer->peer == key(i);
      for (const char c : peer->unique_id()) whole = whole && c == static_cast<char>('a' + peer->accepted_at % 26);
      if (!whole) torn.fetch_add(1, std::memory_order_relaxed);
    }
  };
  {
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back(read);
    readers_look.wait();
    std::vector<std::thread> writers;
    for (unsigned i = 0; i < 2; ++i) writers.emplace_back(write, i);
    for (auto& writer : writers) writer.join();
    done = true;
    for (auto& reader : readers) reader.join();
  }
  CHECK(torn == 0);
  CHECK(found > 0);
  for (unsigned i = 0; i < kPorts; ++i) map.put(key(i), Peer{}).erase();
  CHECK(map.size() == 0);
}
