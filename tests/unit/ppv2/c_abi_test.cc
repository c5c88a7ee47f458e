#include <ppv2/ppv2.h>

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tests/unit/ppv2/vectors.h"

using namespace ppv2_test;

TEST_CASE("C sees every vector as C++ does") {
  for (const Vector& vector : load_vectors()) {
    CAPTURE(vector.name);
    const Exact exact(vector.bytes);
    const ppv2::Bytes bytes = exact;
    const ppv2::Decoded expected = ppv2::decode(bytes);
    ppv2_decoded decoded{};
    decoded.struct_size = sizeof decoded;
    CHECK(ppv2_decode(bytes.data(), bytes.size(), nullptr, &decoded) == static_cast<int>(expected.outcome));
    CHECK(decoded.header_length == expected.header_length);
    CHECK(decoded.offset == expected.offset);
    CHECK(ppv2_reason_name(decoded.reason) == name(expected.reason));
    CHECK(std::memcmp(&decoded.source, &expected.claim.source, sizeof decoded.source) == 0);
    std::size_t position = 0;
    ppv2_tlv tlv;
    for (const auto wanted : expected.claim.tlvs) {
      REQUIRE(ppv2_tlv_next(decoded.tlvs, decoded.tlvs_size, &position, &tlv) == 1);
      CHECK(tlv.type == wanted.type);
      CHECK(tlv.value == wanted.value.data());
      CHECK(tlv.length == wanted.value.size());
    }
    CHECK(ppv2_tlv_next(decoded.tlvs, decoded.tlvs_size, &position, &tlv) == 0);
  }
}

TEST_CASE("a program built against a smaller struct keeps the bytes behind it") {
  const std::string line = "PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n";
  for (std::size_t size = 0; size <= sizeof(ppv2_decoded); ++size) {
    ppv2_decoded decoded;
    std::memset(&decoded, 0xAA, sizeof decoded);
    decoded.struct_size = size;
    CHECK(ppv2_decode(line.data(), line.size(), nullptr, &decoded) == PPV2_HEADER);
    CHECK(decoded.struct_size == size);
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&decoded);
    for (std::size_t i = std::max(size, sizeof size); i < sizeof decoded; ++i) REQUIRE(bytes[i] == 0xAA);
  }
  ppv2_options options{};
  options.struct_size = offsetof(ppv2_options, max_header) + sizeof options.max_header;
  options.max_header = 40;
  CHECK(ppv2_decode(line.data(), line.size(), &options, nullptr) == PPV2_REJECT);  // and v1 is still allowed
  options.max_header = 4096;
  CHECK(ppv2_decode(line.data(), line.size(), &options, nullptr) == PPV2_HEADER);
}

TEST_CASE("C writes headers that it reads") {
  sockaddr_storage storage;
  ppv2_address source;
  const ppv2::Address client = *ppv2::Address::parse("[2001:db8::7]:51512");
  CHECK(ppv2_address_from(reinterpret_cast<sockaddr*>(&storage), client.to(storage), &source) == 1);
  char text[PPV2_ADDRESS_TEXT + 1];
  CHECK(ppv2_address_text(&source, text, sizeof text) == 19);
  CHECK(std::string(text) == "[2001:db8::7]:51512");
  CHECK(ppv2_address_text(&source, text, sizeof text - 1) == 0);
  const ppv2_tlv tlvs[] = {{nullptr, 0, PPV2_TLV_CRC32C}, {"id", 2, PPV2_TLV_UNIQUE_ID}};
  std::array<unsigned char, 128> out;
  const std::size_t size = ppv2_encode_v2(out.data(), out.size(), &source, &source, tlvs, 2);
  ppv2_decoded decoded{};
  decoded.struct_size = sizeof decoded;
  REQUIRE(ppv2_decode(out.data(), size, nullptr, &decoded) == PPV2_HEADER);
  CHECK(decoded.crc == PPV2_CRC_VERIFIED);
  ppv2_tlv found;
  REQUIRE(ppv2_tlv_find(decoded.tlvs, decoded.tlvs_size, PPV2_TLV_UNIQUE_ID, &found) == 1);
  CHECK(found.length == 2);
  CHECK(ppv2_encode_v2(out.data(), size - 1, &source, &source, tlvs, 2) == 0);
  CHECK(ppv2_encode_v2(out.data(), out.size(), nullptr, nullptr, nullptr, 0) == 16);
}

TEST_CASE("C asks whether a source is in a range") {
  ppv2_cidr range;
  ppv2_address address = {.family = PPV2_INET, .port = 1, .bytes = {10, 1, 2, 3}};
  REQUIRE(ppv2_cidr_parse("10.0.0.0/8", &range) == 1);
  CHECK(ppv2_cidr_contains(&range, &address) == 1);
  address.bytes[0] = 11;
  CHECK(ppv2_cidr_contains(&range, &address) == 0);
  CHECK(ppv2_cidr_parse("10.0.0.0/33", &range) == 0);
  range.bits = 255;  // not from ppv2_cidr_parse()
  CHECK(ppv2_cidr_contains(&range, &address) == 0);
}

TEST_CASE("C is told whether a client's certificate was verified, not only that nothing was wrong with it") {
  const auto ssl_of = [](std::uint8_t client, std::uint8_t verify) {
    const unsigned char tlvs[] = {PPV2_TLV_SSL, 0, 10, client, 0, 0, 0, verify, PPV2_TLV_SSL_CN, 0, 2, 'm', 'e'};
    ppv2_ssl ssl{};
    ssl.struct_size = sizeof ssl;
    REQUIRE(ppv2_ssl_find(tlvs, sizeof tlvs, &ssl) == 1);
    ppv2_tlv name;
    CHECK(ppv2_tlv_find(ssl.tlvs, ssl.tlvs_size, PPV2_TLV_SSL_CN, &name) == 1);
    CHECK(ppv2_ssl_find(tlvs, sizeof tlvs - 1, &ssl) == 0);
    CHECK(ssl.is_tls == (client & 1));
    return ssl;
  };
  CHECK(ssl_of(7, 0).verified == 1);
  CHECK(ssl_of(3, 0).verified == 1);
  CHECK(ssl_of(1, 0).verified == 0);
  CHECK(ssl_of(0, 0).verified == 0);
  CHECK(ssl_of(7, 1).verified == 0);
}

TEST_CASE("C sniffs in its own memory") {
  alignas(std::max_align_t) std::array<unsigned char, 1024> memory;
  REQUIRE(ppv2_sniffer_size() <= memory.size());
  CHECK(ppv2_sniffer_init(memory.data(), ppv2_sniffer_size() - 1, PPV2_POLICY_SNIFF, 0, 1, nullptr, nullptr, 0) ==
        nullptr);
  ppv2_sniffer* const sniffer =
      ppv2_sniffer_init(memory.data(), memory.size(), PPV2_POLICY_SNIFF, PPV2_UNTRUSTED_REJECT, 1, nullptr, nullptr, 0);
  ppv2_step step{};
  step.struct_size = sizeof step;
  CHECK(ppv2_sniffer_feed(sniffer, "PROXY UNK", 9, &step) == PPV2_WAIT);
  CHECK(ppv2_sniffer_claim(sniffer, nullptr) == 0);
  CHECK(ppv2_sniffer_feed(sniffer, "NOWN\r\nGET / ", 12, &step) == PPV2_ACCEPT);
  CHECK(step.kind == PPV2_KIND_HTTP1);
  std::size_t kept = 0;
  CHECK(std::memcmp(ppv2_sniffer_pushback(sniffer, &kept), "GET / ", 6) == 0);
  CHECK(kept == 6);
  ppv2_decoded claim{};
  claim.struct_size = sizeof claim;
  CHECK(ppv2_sniffer_claim(sniffer, &claim) == 1);
  CHECK(claim.trusted == 1);
  CHECK(claim.source.family == PPV2_UNSPEC);
  CHECK(ppv2_sniffer_eof(sniffer, nullptr) == PPV2_ACCEPT);
}

TEST_CASE("C keeps peers") {
  ppv2_peermap* const map = ppv2_peermap_new();
  REQUIRE(map != nullptr);
  const ppv2::Address key = *ppv2::Address::parse("127.0.0.1:4000");
  ppv2_address c_key;
  std::memcpy(&c_key, &key, sizeof c_key);
  ppv2_peer peer{};
  peer.struct_size = sizeof peer;
  peer.accepted_at = 77;
  peer.unique_id_length = 2;
  std::memcpy(peer.unique_id, "id", 2);
  ppv2_guard guard{};
  CHECK(ppv2_peermap_put(map, &c_key, &peer, &guard) == 0);
  ppv2_peer found{};
  found.struct_size = sizeof found;
  CHECK(ppv2_peermap_find_grpc(map, "ipv4:127.0.0.1:4000", 19, &found) == 1);
  CHECK(found.accepted_at == 77);
  CHECK(std::string(found.unique_id, found.unique_id_length) == "id");
  CHECK(ppv2_peermap_size(map) == 1);
  ppv2_peermap_erase(&guard);
  ppv2_peermap_erase(&guard);
  CHECK(ppv2_peermap_find_grpc(map, "ipv4:127.0.0.1:4000", 19, &found) == 0);
  ppv2_address none{};
  CHECK(ppv2_peermap_put(map, &none, &peer, &guard) == EINVAL);
  ppv2_peermap_erase(&guard);
  ppv2_peermap_free(map);
  ppv2_peermap_free(nullptr);
}
