#include <ppv2/decoder.h>

#include <doctest/doctest.h>

#include <map>

#include "tests/unit/ppv2/vectors.h"

using namespace ppv2_test;
using ppv2::Decoded;
using ppv2::Kind;
using ppv2::Outcome;
using ppv2::Reason;

namespace {

Decoded decode_exact(std::string_view bytes, const ppv2::DecodeOptions& options = {}) {
  return ppv2::decode(Exact(bytes), options);
}

const std::string kV2Tcp4 = from_hex("0d0a0d0a000d0a515549540a2111000ccb007107c6336419c93801bb");

void check_end(const std::optional<End>& expected, const ppv2::Address& address, ppv2::Bytes path) {
  if (!expected) {
    CHECK(address.family == ppv2::Family::unspec);
    return;
  }
  if (expected->ip.empty()) {
    REQUIRE(path.size() == ppv2::kUnixPathSize);
    CHECK(std::string(std::string(reinterpret_cast<const char*>(path.data()), path.size()).c_str()) == expected->path);
    return;
  }
  char text[ppv2::kAddressTextSize];
  // The index spells mapped addresses in hex groups.
  if (expected->hex.empty()) CHECK(address.host(text) == expected->ip);
  if (!expected->hex.empty()) CHECK(hex(std::as_bytes(std::span(address.bytes))) == expected->hex);
  if (!expected->v4_mapped.empty()) CHECK(address.unmapped().host(text) == expected->v4_mapped);
  CHECK(address.port == expected->port);
}

void check_fields(const std::vector<Field>& expected, const ppv2::TlvView& tlvs) {
  std::size_t seen = 0;
  for (const auto tlv : tlvs) {
    REQUIRE(seen < expected.size());
    const Field& wanted = expected[seen++];
    CHECK(tlv.type == wanted.type);
    CHECK(hex(tlv.value) == wanted.value);
    CHECK(ppv2::tlv_name(tlv.type) == wanted.name);
    if (!wanted.is_ssl) continue;
    const auto ssl = tlvs.ssl();
    REQUIRE(ssl);
    CHECK(ssl->client == wanted.client);
    CHECK(ssl->verify == wanted.verify);
    CHECK(ssl->verified() == wanted.verified);
    check_fields(wanted.fields, ssl->fields);
  }
  CHECK(seen == expected.size());
}

std::string_view word(const std::string& text) {
  return text.starts_with("0x") ? std::string_view("UNSPEC") : text;
}

void check_header(const Vector& vector, const Decoded& decoded) {
  const ppv2::Claim& claim = decoded.claim;
  CHECK(static_cast<int>(claim.version) == vector.version);
  CHECK(decoded.header_length == vector.header_length);
  CHECK(name(claim.command) == vector.command);
  CHECK(name(claim.family) == word(vector.family));
  CHECK(name(claim.transport) == word(vector.transport));
  check_end(vector.source, claim.source, claim.source_path());
  check_end(vector.destination, claim.destination, claim.destination_path());
  if (vector.fields) check_fields(*vector.fields, claim.tlvs);
  if (vector.types) {
    std::vector<int> types;
    for (const auto tlv : claim.tlvs) types.push_back(tlv.type);
    CHECK(types == *vector.types);
  }
  CHECK((decoded.kind == Kind::none) == vector.payload.empty());
  CHECK((decoded.kind == Kind::tls) == (vector.payload == "tls-client-hello"));
}

void check_vector(const Vector& vector) {
  const Exact bytes(vector.bytes);
  const Decoded decoded = ppv2::decode(bytes);
  if (vector.is_header()) {
    REQUIRE(decoded.outcome == Outcome::header);
    check_header(vector, decoded);
  } else if (vector.is_passed_on()) {
    CHECK(decoded.outcome == Outcome::not_proxy);
    CHECK((decoded.kind == Kind::tls) == (vector.outcome == "tls-client-hello"));
  } else {
    CHECK(decoded.outcome == (vector.outcome == "reject" ? Outcome::reject : Outcome::need_more));
  }
}

}  // namespace

TEST_CASE("what real senders send, and every edge of the specification, is decoded as the vectors say") {
  const auto vectors = load_vectors();
  CHECK(vectors.size() == 241);
  for (const Vector& vector : vectors) {
    CAPTURE(vector.name);
    check_vector(vector);
  }
}

TEST_CASE("every strict prefix of a valid header asks for more") {
  for (const Vector& vector : load_vectors()) {
    if (!vector.is_header()) continue;
    CAPTURE(vector.name);
    const std::size_t length = vector.header_length;
    for (std::size_t size = 0; size < length; ++size) {
      const Decoded decoded = decode_exact(std::string_view(vector.bytes).substr(0, size));
      CAPTURE(size);
      REQUIRE(decoded.outcome == Outcome::need_more);
      REQUIRE(decoded.offset == size);
      REQUIRE(decoded.wanted > size);
      REQUIRE(decoded.wanted <= length);
    }
    CHECK(decode_exact(std::string_view(vector.bytes).substr(0, length)).outcome == Outcome::header);
  }
}

TEST_CASE("a refusal does not depend on how the bytes were cut") {
  for (const Vector& vector : load_vectors()) {
    const Decoded whole = decode_exact(vector.bytes);
    if (whole.outcome != Outcome::reject) continue;
    CAPTURE(vector.name);
    std::size_t size = 0;
    Decoded decoded;
    while (decoded.outcome == Outcome::need_more && size <= vector.bytes.size())
      decoded = decode_exact(std::string_view(vector.bytes).substr(0, size++));
    CHECK(decoded.outcome == Outcome::reject);
    CHECK(decoded.reason == whole.reason);
    CHECK(decoded.offset == whole.offset);
  }
}

TEST_CASE("a ninth group of an IPv6 address is at fault from its first digit, however long it goes on") {
  const std::string line = "PROXY TCP6 ffff:fff:ffff:ffff:ffff::ffff:ffff:fffff";
  const Decoded whole = decode_exact(line);
  CHECK(whole.outcome == Outcome::reject);
  CHECK(whole.offset == line.rfind(':') + 1);
  for (std::size_t size = line.size(); size > whole.offset; --size) {
    CHECK(decode_exact(line.substr(0, size)).offset == whole.offset);
  }
}

TEST_CASE("a stream that is no header is let go at its first byte that differs") {
  for (const Vector& vector : load_vectors()) {
    if (!vector.is_passed_on()) continue;
    CAPTURE(vector.name);
    const std::size_t decisive = vector.decisive;
    CHECK(decode_exact(std::string_view(vector.bytes).substr(0, decisive - 1)).outcome == Outcome::need_more);
    CHECK(decode_exact(std::string_view(vector.bytes).substr(0, decisive)).outcome == Outcome::not_proxy);
  }
}

TEST_CASE("a header over the limit is refused at byte 16") {
  const std::string start = from_hex("0d0a0d0a000d0a515549540a21110100");
  CHECK(decode_exact(start).wanted == 272);
  const Decoded decoded = decode_exact(start, {.max_header = 271});
  CHECK(decoded.outcome == Outcome::reject);
  CHECK(decoded.reason == Reason::header_too_long);
  CHECK(decoded.offset == 14);
}

TEST_CASE("a listener takes only the versions it allows") {
  const std::string v1 = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n";
  CHECK(decode_exact(kV2Tcp4, {.v2 = false}).reason == Reason::version_not_allowed);
  CHECK(decode_exact(v1, {.v2 = false}).outcome == Outcome::header);
  CHECK(decode_exact(v1, {.v1 = false}).outcome == Outcome::not_proxy);
  CHECK(decode_exact("P", {.v1 = false}).outcome == Outcome::not_proxy);
  CHECK(decode_exact("PROXY / HTTP/1.1\r\n", {.v1 = false}).kind == Kind::http1);
}

TEST_CASE("a checksum can be demanded or left alone") {
  CHECK(decode_exact(kV2Tcp4, {.crc = ppv2::Crc::required}).reason == Reason::crc_missing);
  std::string bad = from_hex("0d0a0d0a000d0a515549540a21110013cb007107c6336419c93801bb03000400000000");
  CHECK(decode_exact(bad).reason == Reason::crc_mismatch);
  const Exact exact(bad);
  const Decoded unchecked = ppv2::decode(exact, {.crc = ppv2::Crc::ignore});
  CHECK(unchecked.outcome == Outcome::header);
  CHECK(unchecked.claim.crc == ppv2::CrcState::unchecked);
}

TEST_CASE("a LOCAL header is valid whatever stands behind it, and claims nothing") {
  for (const char* const block : {"", "03000400000000", "ff", "030004", "0500ff", "7f0000017f00000104d200500a0b0c"}) {
    std::string bytes = from_hex("0d0a0d0a000d0a515549540a2011");
    const std::string body = from_hex(block);
    bytes += std::string{'\0', static_cast<char>(body.size())} + body;
    const Decoded decoded = decode_exact(bytes + "payload");
    CAPTURE(block);
    CHECK(decoded.outcome == Outcome::header);
    CHECK(decoded.header_length == bytes.size());
    CHECK(!decoded.claim.has_addresses());
    CHECK(decoded.claim.tlvs.empty());
  }
}

TEST_CASE("an IPv4 address in a TCP6 line is taken only when asked for") {
  const std::string line = "PROXY TCP6 2001:db8::7 198.51.100.25 51512 443\r\n";
  CHECK(decode_exact(line).reason == Reason::v1_address);
  const ppv2::DecodeOptions lenient{.v4_in_tcp6 = true};
  const Decoded decoded = decode_exact(line, lenient);
  REQUIRE(decoded.outcome == Outcome::header);
  char text[ppv2::kAddressTextSize];
  CHECK(decoded.claim.destination.text(text) == "[::ffff:198.51.100.25]:443");
  for (std::size_t size = 0; size < line.size(); ++size)
    CHECK(decode_exact(line.substr(0, size), lenient).outcome == Outcome::need_more);
  CHECK(decode_exact("PROXY TCP6 ::1 ::2 51512 443\r\n", lenient).outcome == Outcome::header);
}

TEST_CASE("what follows is told apart: TLS, HTTP/1, HTTP/2, other, nothing") {
  const std::map<std::string, Kind> kinds = {
      {from_hex("16030100c8010000c40303"), Kind::tls},
      {from_hex("1603030005020000"), Kind::other},
      {from_hex("16020000050100"), Kind::other},
      {"GET / HTTP/1.1\r\n", Kind::http1},
      {"\r\nGET / HTTP/1.1\r\n", Kind::http1},
      {"OPTIONS * HTTP/1.1\r\n", Kind::http1},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Kind::h2c},
      {"PRI * HTTP", Kind::h2c},
      {"SSH-2.0-OpenSSH_9.2\r\n", Kind::other},
      {"get / HTTP/1.1", Kind::other},
      {from_hex("00000004"), Kind::other},
      {"", Kind::none},
  };
  for (const auto& [bytes, kind] : kinds) {
    CAPTURE(bytes);
    CHECK(name(ppv2::classify(Exact(bytes))) == name(kind));
    CHECK(name(decode_exact(kV2Tcp4 + bytes).kind) == name(kind));
  }
}

TEST_CASE("cloud identifiers are read as each cloud writes them") {
  const std::string block = from_hex(
      "ea0006017670636531"
      "ee0005010a000000"
      "e000080000000000000102");
  const auto tlvs = ppv2::TlvView::over(bytes_of(block));
  REQUIRE(tlvs);
  CHECK(tlvs->aws_vpce_id() == "vpce1");
  CHECK(tlvs->azure_link_id() == 10);
  CHECK(tlvs->gcp_psc_id() == 258);
  CHECK(!tlvs->alpn());
  CHECK(!ppv2::TlvView::over(bytes_of(block.substr(0, block.size() - 1))));
}

TEST_CASE("fields keep their order and their doubles, and the first of a type is the one that counts") {
  const std::string block = from_hex(
      "e10001aa"
      "040000"
      "e10001bb"
      "050001cc"
      "e1000100");
  const auto tlvs = ppv2::TlvView::over(bytes_of(block));
  REQUIRE(tlvs);
  std::string seen;
  for (const ppv2::Tlv tlv : *tlvs) seen += std::to_string(tlv.type) + "=" + hex(tlv.value) + " ";
  CHECK(seen == "225=aa 4= 225=bb 5=cc 225=00 ");
  CHECK(hex(tlvs->find(0xE1)->value) == "aa");
}

TEST_CASE("a value is bytes: NUL, line ends and broken UTF-8 come through") {
  const std::string block = from_hex("02000561000d0aff");
  const auto tlvs = ppv2::TlvView::over(bytes_of(block));
  REQUIRE(tlvs);
  CHECK(tlvs->authority() == std::string_view("a\0\r\n\xff", 5));
}

TEST_CASE("a cloud's field of another subtype or size is not its identifier") {
  const std::string block = from_hex(
      "ea00020276"
      "ea0003017632"
      "ee0005020a000000"
      "ee00040a000000"
      "e0000400000001");
  const auto tlvs = ppv2::TlvView::over(bytes_of(block));
  REQUIRE(tlvs);
  CHECK(tlvs->aws_vpce_id() == "v2");
  CHECK(!tlvs->azure_link_id());
  CHECK(!tlvs->gcp_psc_id());
}
