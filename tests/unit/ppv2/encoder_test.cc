#include <ppv2/encoder.h>

#include <doctest/doctest.h>

#include <array>

#include "tests/unit/ppv2/vectors.h"

using namespace ppv2_test;
using ppv2::Address;
using ppv2::Decoded;
using ppv2::Encoder;
using ppv2::Outcome;

namespace {

const Address kClient = *Address::parse("203.0.113.7:51512");
const Address kServer = *Address::parse("198.51.100.25:443");
const Address kClient6 = *Address::parse("[2001:db8::7]:51512");

using Buffer = std::array<std::byte, 4096>;

std::string written(const Buffer& buffer, std::size_t size) {
  return {reinterpret_cast<const char*>(buffer.data()), size};
}

// The header that `decoded` came from, written again field by field.
std::string encode_again(const Decoded& decoded) {
  if (decoded.claim.version == ppv2::Version::v1) {
    char line[ppv2::kV1MaxLine];
    return {line, ppv2::encode_v1(line, decoded.claim.source, decoded.claim.destination)};
  }
  Buffer buffer;
  Encoder encoder = Encoder::repeat(buffer, decoded.claim);
  for (const auto tlv : decoded.claim.tlvs) {
    if (tlv.type == ppv2::kCrc32c) {
      encoder.crc32c();
    } else {
      encoder.tlv(tlv.type, tlv.value);
    }
  }
  return written(buffer, encoder.finish());
}

// Headers whose ignored parts no encoder can know, and spellings that are allowed but not written here.
bool is_canonical(const Vector& vector, const Decoded& decoded) {
  const ppv2::Claim& claim = decoded.claim;
  if (claim.version == ppv2::Version::v1) {
    if (!claim.has_addresses()) return decoded.header_length == sizeof "PROXY UNKNOWN\r\n" - 1;
    return vector.name != "v1-ipv6-upper" && vector.name != "curl-v1-http6";
  }
  if (claim.command == ppv2::Command::local)
    return vector.name.find("local-undefined") == std::string::npos &&
           decoded.header_length == 16 + claim.tlvs.bytes().size();
  return claim.has_addresses();
}

}  // namespace

TEST_CASE("what was decoded can be written again, byte for byte") {
  int written_again = 0;
  for (const Vector& vector : load_vectors()) {
    const Exact bytes(vector.bytes);
    const Decoded decoded = ppv2::decode(bytes);
    if (decoded.outcome != Outcome::header || !is_canonical(vector, decoded)) continue;
    CAPTURE(vector.name);
    CHECK(hex(bytes_of(encode_again(decoded))) == hex(bytes_of(vector.bytes.substr(0, decoded.header_length))));
    ++written_again;
  }
  CHECK(written_again > 100);
}

TEST_CASE("a v2 header is the bytes of the specification") {
  Buffer buffer;
  const std::string expected = "0d0a0d0a000d0a515549540a2111000ccb007107c6336419c93801bb";
  CHECK(hex(bytes_of(written(buffer, ppv2::encode_v2(buffer, kClient, kServer)))) == expected);
  CHECK(hex(bytes_of(written(buffer, Encoder::proxy(buffer, kClient, kServer).finish()))) == expected);
  CHECK(hex(bytes_of(written(buffer, Encoder::local(buffer).finish()))) == "0d0a0d0a000d0a515549540a20000000");
}

TEST_CASE("two ends of different families become IPv6") {
  Buffer buffer;
  for (const std::size_t size :
       {ppv2::encode_v2(buffer, kClient6, kServer), Encoder::proxy(buffer, kClient6, kServer).finish()}) {
    REQUIRE(size == 52);
    const Decoded decoded = ppv2::decode({buffer.data(), size});
    CHECK(decoded.claim.source == kClient6);
    CHECK(decoded.claim.destination.unmapped() == kServer);
  }
  char line[ppv2::kV1MaxLine];
  CHECK(std::string(line, ppv2::encode_v1(line, kClient6, kServer)) ==
        "PROXY TCP6 2001:db8::7 ::ffff:198.51.100.25 51512 443\r\n");
}

TEST_CASE("what does not fit is not written") {
  const auto fill = [](std::span<std::byte> out) {
    return Encoder::proxy(out, kClient6, kServer).unique_id("id").authority("a.example").crc32c().pad_to(16).finish();
  };
  Buffer buffer;
  const std::size_t whole = fill(buffer);
  REQUIRE(whole != 0);
  for (std::size_t size = 0; size < whole; ++size) {
    const auto exact = std::make_unique<std::byte[]>(size);
    CHECK(fill({exact.get(), size}) == 0);
    if (size < 52) CHECK(ppv2::encode_v2({exact.get(), size}, kClient6, kServer) == 0);
  }
  const auto exact = std::make_unique<std::byte[]>(whole);
  CHECK(fill({exact.get(), whole}) == whole);
  CHECK(Encoder::local(buffer).unique_id(std::string(129, 'x')).finish() == 0);
  CHECK(Encoder::local(buffer).crc32c().crc32c().finish() == 0);
}

TEST_CASE("every kind of field can be written and read back") {
  Buffer buffer;
  const std::size_t size = Encoder::proxy(buffer, kClient, kServer, ppv2::Transport::dgram)
                               .alpn("h2")
                               .authority("shop.example")
                               .netns("blue")
                               .unique_id("01HF")
                               .ssl({.client = 7, .verify = 0, .version = "TLSv1.3", .cn = "client1"})
                               .tlv(0xE4, "edge-a")
                               .crc32c()
                               .finish();
  const Decoded decoded = ppv2::decode({buffer.data(), size});
  REQUIRE(decoded.outcome == Outcome::header);
  CHECK(decoded.claim.crc == ppv2::CrcState::verified);
  CHECK(decoded.claim.transport == ppv2::Transport::dgram);
  const auto& tlvs = decoded.claim.tlvs;
  CHECK(tlvs.alpn() == "h2");
  CHECK(tlvs.authority() == "shop.example");
  CHECK(tlvs.netns() == "blue");
  CHECK(tlvs.unique_id() == "01HF");
  CHECK(tlvs.text(0xE4) == "edge-a");
  REQUIRE(tlvs.ssl());
  CHECK(tlvs.ssl()->verified());
  CHECK(tlvs.ssl()->version() == "TLSv1.3");
  CHECK(tlvs.ssl()->cn() == "client1");
  CHECK(!tlvs.ssl()->cipher());
}

TEST_CASE("fields are handed on to the next hop without padding and with a new checksum") {
  Buffer first;
  const std::size_t size = Encoder::proxy(first, kClient, kServer).crc32c().unique_id("id").pad_to(64).finish();
  CHECK(size == 64);
  const Decoded one = ppv2::decode({first.data(), size});
  REQUIRE(one.outcome == Outcome::header);
  Buffer second;
  const std::size_t again = Encoder::proxy(second, kClient6, kServer).tlvs(one.claim.tlvs).finish();
  const Decoded two = ppv2::decode({second.data(), again});
  REQUIRE(two.outcome == Outcome::header);
  CHECK(two.claim.crc == ppv2::CrcState::verified);
  CHECK(two.claim.tlvs.unique_id() == "id");
  CHECK(!two.claim.tlvs.find(ppv2::kNoop));
}

TEST_CASE("padding is whole and made of zeros, however small the gap") {
  for (std::size_t unit = 1; unit < 70; ++unit)
    for (std::size_t id = 0; id < 8; ++id) {
      Buffer buffer;
      buffer.fill(std::byte{0xAA});
      const std::size_t size =
          Encoder::proxy(buffer, kClient, kServer).unique_id(std::string(id, 'x')).pad_to(unit).finish();
      CAPTURE(unit);
      REQUIRE(size % unit == 0);
      const Decoded decoded = ppv2::decode({buffer.data(), size});
      REQUIRE(decoded.outcome == Outcome::header);
      if (const auto noop = decoded.claim.tlvs.find(ppv2::kNoop))
        for (const std::byte byte : noop->value) REQUIRE(byte == std::byte{0});
    }
}

TEST_CASE("Unix paths are carried whole") {
  Buffer buffer;
  const std::string full(108, 'p');
  const std::size_t size = Encoder::proxy_unix(buffer, full, std::string_view("\0abs", 4)).finish();
  const Decoded decoded = ppv2::decode({buffer.data(), size});
  REQUIRE(decoded.outcome == Outcome::header);
  CHECK(hex(decoded.claim.source_path()) == hex(bytes_of(full)));
  CHECK(hex(decoded.claim.destination_path()).starts_with("0061627300"));
  CHECK(Encoder::proxy_unix(buffer, full + "p", "").finish() == 0);
}
