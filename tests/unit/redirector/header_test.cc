#include "redirector/header.h"

#include <doctest/doctest.h>
#include <ppv2/decoder.h>
#include <ppv2/ravelin.h>

#include <array>
#include <vector>

#include "relay/policy.h"

using namespace ravelin;
using redirector::HeaderSettings;

namespace {

relay::SessionRecord session(const char* client, const char* local) {
  relay::SessionRecord record;
  record.client = *sys::SocketAddress::parse(client);
  record.local = *sys::SocketAddress::parse(local);
  for (std::size_t i = 0; i < record.id.bytes.size(); ++i) record.id.bytes[i] = static_cast<std::uint8_t>(0xA0 + i);
  return record;
}

std::vector<std::byte> header_of(const relay::SessionRecord& record, const HeaderSettings& settings) {
  std::vector<std::byte> bytes(relay::kMaxHeader);
  bytes.resize(redirector::write_header(bytes, record, settings, "edge-1"));
  return bytes;
}

std::string text_of(const ppv2::Address& address) {
  std::array<char, ppv2::kAddressTextSize> out;
  return std::string(address.text(out));
}

}  // namespace

TEST_CASE("the header's bytes are exactly those of the specification") {
  const auto bytes = header_of(session("192.0.2.1:4711", "198.51.100.2:443"),
                               {.unique_id = false, .edge_name = true, .crc32c = false});
  const unsigned char expected[] = {0x0D, 0x0A, 0x0D, 0x0A,   0x00, 0x0D, 0x0A, 0x51, 0x55,
                                    0x49, 0x54, 0x0A,                               // signature
                                    0x21, 0x11, 0x00, 12 + 9,                       // PROXY, TCP4
                                    192,  0,    2,    1,      198,  51,   100,  2,  // addresses
                                    0x12, 0x67, 0x01, 0xBB,                         // ports
                                    0xE1, 0x00, 0x06, 'e',    'd',  'g',  'e',  '-',  '1'};
  REQUIRE(bytes.size() == sizeof expected);
  for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(std::to_integer<int>(bytes[i]) == expected[i]);
}

TEST_CASE("the origin reads the client, the address it came to, the session's id and the edge's name") {
  for (const auto& [client, local] :
       {std::pair{"192.0.2.1:4711", "198.51.100.2:443"}, std::pair{"[2001:db8::1]:4711", "[2001:db8::2]:443"}}) {
    const auto record = session(client, local);
    const auto bytes = header_of(record, {.crc32c = true});
    const auto decoded = ppv2::decode(bytes, {.crc = ppv2::Crc::required});
    REQUIRE(decoded.outcome == ppv2::Outcome::header);
    CHECK(decoded.header_length == bytes.size());
    CHECK(decoded.claim.command == ppv2::Command::proxy);
    CHECK(decoded.claim.crc == ppv2::CrcState::verified);
    CHECK(text_of(decoded.claim.source) == client);
    CHECK(text_of(decoded.claim.destination) == local);
    CHECK(decoded.claim.tlvs.unique_id() == "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
    CHECK(decoded.claim.tlvs.text(ppv2::kEdgeNameTlv) == "edge-1");
  }
}

TEST_CASE("an IPv4 client of an IPv6 listener is announced as IPv4") {
  const auto bytes = header_of(session("[::ffff:192.0.2.1]:4711", "[::ffff:198.51.100.2]:443"), {});
  const auto decoded = ppv2::decode(bytes);
  REQUIRE(decoded.outcome == ppv2::Outcome::header);
  CHECK(decoded.claim.family == ppv2::Family::inet);
  CHECK(text_of(decoded.claim.source) == "192.0.2.1:4711");
}

TEST_CASE("for a client without an address the edge speaks for itself alone") {
  relay::SessionRecord record;
  record.client.family = AF_UNIX;
  record.local.family = AF_UNIX;
  const auto bytes = header_of(record, {});
  const auto decoded = ppv2::decode(bytes);
  REQUIRE(decoded.outcome == ppv2::Outcome::header);
  CHECK(decoded.claim.command == ppv2::Command::local);
  CHECK(!decoded.claim.has_addresses());
  CHECK(decoded.claim.tlvs.unique_id() == record.id.text());
}
