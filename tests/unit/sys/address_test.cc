#include "sys/address.h"

#include <doctest/doctest.h>
#include <netinet/in.h>

using ravelin::sys::Cidr;
using ravelin::sys::Endpoint;
using ravelin::sys::SocketAddress;

TEST_CASE("an address is written the way it is read") {
  for (const char* text : {"192.0.2.1:443", "[2001:db8::1]:65535", "0.0.0.0:0", "[::]:1"}) {
    const auto address = SocketAddress::parse(text);
    REQUIRE(address);
    CHECK(address->text() == text);
    sockaddr_storage storage{};
    const socklen_t length = address->to(storage);
    CHECK(SocketAddress::from(reinterpret_cast<sockaddr*>(&storage), length) == *address);
  }
}

TEST_CASE("an IPv4 client of a dual-stack socket has its IPv4 spelling") {
  CHECK(SocketAddress::parse("[::ffff:192.0.2.7]:80")->text() == "192.0.2.7:80");
  CHECK(Cidr::parse("::ffff:192.0.2.0/120")->text() == "192.0.2.0/24");
}

TEST_CASE("what is not strictly an address is refused") {
  for (const char* text :
       {"", "1.2.3:4", "01.2.3.4:5", "1.2.3.4", "1.2.3.4:65536", "1.2.3.4:-1", "::1:80", "[::1]80", "1.2.3.4:"}) {
    CAPTURE(text);
    CHECK(!SocketAddress::parse(text));
  }
}

TEST_CASE("a range holds its addresses and no others") {
  const auto range = Cidr::parse("203.0.113.128/25");
  REQUIRE(range);
  CHECK(range->contains(*SocketAddress::parse("203.0.113.128:1")));
  CHECK(range->contains(*SocketAddress::parse("203.0.113.255:1")));
  CHECK(!range->contains(*SocketAddress::parse("203.0.113.127:1")));
  CHECK(!range->contains(*SocketAddress::parse("[::1]:1")));
  CHECK(Cidr::parse("0.0.0.0/0")->contains(*SocketAddress::parse("8.8.8.8:1")));
  CHECK(Cidr::parse("2001:db8::1")->contains(*SocketAddress::parse("[2001:db8::1]:9")));
  for (const char* text : {"203.0.113.0/33", "x/8", "::/129", "203.0.113.0/", "::ffff:1.2.3.4/95"})
    CHECK(!Cidr::parse(text));
}

TEST_CASE("a listen address may leave out the host or be a Unix path") {
  CHECK(Endpoint::parse(":443")->text() == ":443");
  CHECK(Endpoint::parse("origin.example:443")->host == "origin.example");
  CHECK(!Endpoint::parse("origin.example:443")->literal());
  CHECK(Endpoint::parse("[2001:db8::1]:443")->literal()->text() == "[2001:db8::1]:443");
  CHECK(Endpoint::parse("unix:/run/gateway.sock")->path == "/run/gateway.sock");
  CHECK(Endpoint::parse("unix:@inner")->is_unix());
  CHECK(!Endpoint::parse("unix:"));
  CHECK(!Endpoint::parse("origin.example"));
  CHECK(!Endpoint::parse("unix:" + std::string(108, 'x')));
}

TEST_CASE("the name that the kernel gives an autobound Unix socket is kept") {
  sockaddr_storage storage{};
  const auto length = ravelin::sys::unix_address("@0001f", storage);
  REQUIRE(length);
  const auto address = SocketAddress::from(reinterpret_cast<sockaddr*>(&storage), *length);
  CHECK(address.text() == "unix:@0001f");
}
