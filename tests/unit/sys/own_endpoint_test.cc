#include "sys/own_endpoint.h"

#include <doctest/doctest.h>

using namespace ravelin::sys;

namespace {

bool leads(const char* target, const char* listener) {
  return leads_to(*Endpoint::parse(target), *Endpoint::parse(listener));
}

}  // namespace

TEST_CASE("an address leads to the listener on that very address and port") {
  CHECK(leads("192.0.2.1:443", "192.0.2.1:443"));
  CHECK(leads("[2001:db8::1]:443", "[2001:DB8::1]:443"));
  CHECK(leads("[::ffff:192.0.2.1]:443", "192.0.2.1:443"));
  CHECK_FALSE(leads("192.0.2.1:443", "192.0.2.1:444"));
  CHECK_FALSE(leads("192.0.2.2:443", "192.0.2.1:443"));
  CHECK_FALSE(leads("127.0.0.2:443", "127.0.0.1:443"));
}

TEST_CASE("every address of this machine leads to a listener on all of them, and no other address does") {
  for (const char* own : {"127.0.0.1:443", "127.9.9.9:443", "[::1]:443", "localhost:443", "0.0.0.0:443", "[::]:443"}) {
    CAPTURE(own);
    CHECK(leads(own, ":443"));
  }
  CHECK(leads("127.0.0.1:443", "0.0.0.0:443"));
  CHECK(leads("[::1]:443", "[::]:443"));
  CHECK_FALSE(leads("127.0.0.1:443", "[::]:443"));  // which takes IPv6 alone
  CHECK_FALSE(leads("192.0.2.1:443", ":443"));
  CHECK_FALSE(leads("127.0.0.1:443", ":444"));
}

TEST_CASE("localhost is loopback, and other names lead nowhere that is known") {
  CHECK(leads("localhost:443", "127.0.0.1:443"));
  CHECK(leads("127.0.0.1:443", "localhost:443"));
  CHECK(leads("localhost:443", "[::1]:443"));
  CHECK_FALSE(leads("origin.example:443", ":443"));
}

TEST_CASE("the unspecified address is loopback to who connects to it") {
  CHECK(leads("0.0.0.0:443", "127.0.0.1:443"));
  CHECK(leads("[::]:443", "[::1]:443"));
}

TEST_CASE("a Unix path leads to the listener on that path") {
  CHECK(leads("unix:/run/a.sock", "unix:/run/a.sock"));
  CHECK(leads("unix:/run/./x/../a.sock", "unix:/run/a.sock"));
  CHECK(leads("unix:@a", "unix:@a"));
  CHECK_FALSE(leads("unix:@a", "unix:a"));
  CHECK_FALSE(leads("unix:/run/a.sock", "unix:/run/b.sock"));
  CHECK_FALSE(leads("unix:/run/a.sock", ":443"));
}

TEST_CASE("a port that the kernel is to choose is nobody's") {
  CHECK_FALSE(leads("127.0.0.1:0", "127.0.0.1:0"));
}
