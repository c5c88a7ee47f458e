#include <ppv2/cidr.h>

#include <doctest/doctest.h>

#include <string>

using ppv2::Address;
using ppv2::Cidr;

namespace {

bool contains(std::string_view range, std::string_view address) {
  const auto cidr = Cidr::parse(range);
  REQUIRE(cidr);
  return cidr->contains(*Address::parse(address));
}

}  // namespace

TEST_CASE("a range holds the addresses whose leading bits are its own") {
  CHECK(contains("10.0.0.0/8", "10.255.1.2:1"));
  CHECK(!contains("10.0.0.0/8", "11.0.0.0:1"));
  CHECK(contains("192.0.2.64/26", "192.0.2.127:1"));
  CHECK(!contains("192.0.2.64/26", "192.0.2.128:1"));
  CHECK(contains("192.0.2.7", "192.0.2.7:443"));
  CHECK(!contains("192.0.2.7", "192.0.2.6:443"));
  CHECK(contains("0.0.0.0/0", "203.0.113.9:1"));
  CHECK(contains("2001:db8::/33", "[2001:db8:7fff::1]:1"));
  CHECK(!contains("2001:db8::/33", "[2001:db8:8000::1]:1"));
  CHECK(contains("::1/128", "[::1]:1"));
}

TEST_CASE("an IPv4 client of a dual-stack listener is looked for as IPv4, and only there") {
  CHECK(contains("10.0.0.0/8", "[::ffff:10.1.2.3]:1"));
  CHECK(contains("::ffff:10.0.0.0/104", "10.1.2.3:1"));
  CHECK(!contains("::/0", "10.1.2.3:1"));
  CHECK(!contains("::/0", "[::ffff:10.1.2.3]:1"));
  CHECK(!contains("0.0.0.0/0", "[::1]:1"));
}

TEST_CASE("what is no IP address is in no range") {
  CHECK(!Cidr::parse("0.0.0.0/0")->contains(Address()));
  CHECK(!Cidr{}.contains(Address()));
  CHECK(!contains("::/0", "@0001f"));
}

TEST_CASE("a range that is not written strictly is none") {
  for (const char* const text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0/8",
                                 "010.0.0.0/8", "::/129", "::ffff:0.0.0.0/95", "[::1]/128", "10.0.0.0:1",
                                 "fe80::1%eth0", "host", "1111:1111:1111:1111:1111:1111:255.255.255.255/1280"}) {
    CAPTURE(text);
    CHECK(!Cidr::parse(text));
  }
  CHECK(!Cidr::parse(std::string_view("10.0.0.0\0", 9)));
}

TEST_CASE("one range of several is enough") {
  const Cidr ranges[] = {*Cidr::parse("10.0.0.0/8"), *Cidr::parse("2001:db8::/32")};
  CHECK(ppv2::contains(ranges, *Address::parse("10.0.0.1:1")));
  CHECK(ppv2::contains(ranges, *Address::parse("[2001:db8::1]:1")));
  CHECK(!ppv2::contains(ranges, *Address::parse("192.0.2.1:1")));
  CHECK(!ppv2::contains({}, *Address::parse("192.0.2.1:1")));
}
