#include <ppv2/blocking.h>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "tests/unit/ppv2/vectors.h"

using namespace std::chrono_literals;
using ppv2::Action;
using ppv2::FirstBytes;
using ppv2::Policy;
using ppv2::Reason;
using ppv2::Sniffer;

namespace {

const std::string kHeader = "PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n";

class Pair {
 public:
  Pair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  void send(std::string_view bytes) { REQUIRE(::write(ends_[0], bytes.data(), bytes.size()) >= 0); }
  void finish() { ::shutdown(ends_[0], SHUT_WR); }
  [[nodiscard]] int server() const { return ends_[1]; }

 private:
  int ends_[2] = {-1, -1};
};

std::string payload(const Sniffer& sniffer, const FirstBytes& first) {
  std::string bytes;
  for (const ppv2::Bytes part : {sniffer.pushback(), first.rest})
    bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
  return bytes;
}

}  // namespace

TEST_CASE("a blocking server gets the claim and its own first bytes, however small its buffer is") {
  for (const std::size_t room : {1, 7, 48, 49, 4096}) {
    CAPTURE(room);
    Pair pair;
    pair.send(kHeader + "hi");
    Sniffer sniffer({Policy::require}, true);
    std::vector<std::byte> chunk(room);
    const FirstBytes first = ppv2::take_header(pair.server(), sniffer, chunk);
    REQUIRE(first.may_go_on());
    CHECK(sniffer.claim()->source == *ppv2::Address::parse("203.0.113.7:51512"));
    std::string bytes = payload(sniffer, first);
    char more[8];
    while (bytes.size() < 2) bytes.append(more, static_cast<std::size_t>(::read(pair.server(), more, sizeof more)));
    CHECK(bytes == "hi");
  }
}

TEST_CASE("a blocking server has one patience for silence and one for half a header") {
  std::array<std::byte, 64> chunk;
  Pair silent;
  Sniffer passes({Policy::sniff}, true);
  CHECK(ppv2::take_header(silent.server(), passes, chunk, {.silence = 1ms, .header = 1h}).step.action == Action::pass);
  Sniffer refuses({Policy::require}, true);
  CHECK(ppv2::take_header(silent.server(), refuses, chunk, {.silence = 0ms}).step.reason == Reason::timed_out);
  Pair half;
  half.send("PROXY TC");
  Sniffer waits({Policy::sniff}, true);
  const FirstBytes first = ppv2::take_header(half.server(), waits, chunk, {.silence = 1h, .header = 1ms});
  CHECK(first.step.reason == Reason::timed_out);
  CHECK(!first.may_go_on());
}

TEST_CASE("a blocking server reads nothing of a connection that is decided unread") {
  Pair pair;
  pair.send(kHeader);
  Sniffer stranger({Policy::require}, false);
  std::array<std::byte, 64> chunk;
  CHECK(ppv2::take_header(pair.server(), stranger, chunk).step.reason == Reason::source_not_trusted);
  char byte = 0;
  CHECK(::read(pair.server(), &byte, 1) == 1);
  CHECK(byte == 'P');
}

TEST_CASE("a blocking server is told of a peer that went and of a socket that failed") {
  std::array<std::byte, 64> chunk;
  Pair gone;
  gone.send(kHeader.substr(0, 20));
  gone.finish();
  Sniffer cut({Policy::sniff}, true);
  CHECK(ppv2::take_header(gone.server(), cut, chunk).step.reason == Reason::closed);
  Sniffer failed({Policy::sniff}, true);
  const int no_socket = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const FirstBytes first = ppv2::take_header(no_socket, failed, chunk);
  ::close(no_socket);
  CHECK(!first.may_go_on());
  CHECK(first.error == ENOTSOCK);
}
