#include <ppv2/address.h>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <ppv2/decoder.h>

#include <cstring>
#include <random>
#include <string>

#include "tests/unit/ppv2/vectors.h"

using ppv2::Address;

TEST_CASE("a PROXY address is written the way it is read and is the kernel's") {
  for (const char* const text : {"192.0.2.1:443", "[2001:db8::1]:65535", "[::]:1", "[::ffff:192.0.2.1]:80", "@0001f"}) {
    CAPTURE(text);
    const auto address = Address::parse(text);
    REQUIRE(address);
    char out[ppv2::kAddressTextSize];
    CHECK(address->text(out) == text);
    sockaddr_storage storage;
    const socklen_t length = address->to(storage);
    CHECK(Address::from(reinterpret_cast<sockaddr*>(&storage), length) == *address);
    CHECK(address->unmapped().mapped().unmapped() == address->unmapped());
  }
  for (const char* const text : {"", "1.2.3:4", "01.2.3.4:5", "1.2.3.4", "1.2.3.4:65536", "1.2.3.4:05", "::1:80",
                                 "[::1]80", "[1.2.3.4]:1", "1.2.3.4:1 ", "@", "[::1%lo]:1", "@0123456789abcdefg"}) {
    CAPTURE(text);
    CHECK(!Address::parse(text));
  }
}

// libc's reader is strict about everything but where the text ends, which makes it the measure here.
TEST_CASE("IPv6 text is taken exactly where libc takes it") {
  constexpr char kLetters[] = "0123456789abcdefABCDEF:::::::..%g";
  std::mt19937 random(20260427);
  int valid = 0;
  const auto check = [&valid](const std::string& text) {
    std::uint8_t expected[16];
    const bool accepted = inet_pton(AF_INET6, text.c_str(), expected) == 1;
    const auto address = Address::parse("[" + text + "]:1");
    CAPTURE(text);
    REQUIRE(address.has_value() == accepted);
    if (accepted) REQUIRE(std::memcmp(address->bytes.data(), expected, 16) == 0);
    valid += accepted ? 1 : 0;
  };
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    if (i % 2 == 0) {
      for (std::size_t size = random() % 12; size != 0; --size)
        text.push_back(kLetters[random() % (sizeof kLetters - 1)]);
    } else {  // groups, with a gap or a dotted tail somewhere
      const std::size_t groups = 1 + random() % 9;
      for (std::size_t g = 0; g < groups; ++g) {
        if (g != 0) text += random() % 6 == 0 ? "::" : ":";
        for (std::size_t size = 1 + random() % 4; size != 0; --size) text.push_back(kLetters[random() % 22]);
      }
      if (random() % 4 == 0) text += ":1.2.3.4";
      if (random() % 8 == 0) text.insert(0, "::");
      if (random() % 8 == 0) text += "::";
    }
    if (text.size() < 46) check(text);
  }
  CHECK(valid > 1000);
}
