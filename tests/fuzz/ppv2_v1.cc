// v1 lines: the input stands behind "PROXY ", so that every run is inside the text parser. Its measure is libc: an
// address that is accepted is one for inet_pton() too, and gives the same bytes.
#include <arpa/inet.h>
#include <ppv2/cidr.h>
#include <ppv2/encoder.h>

#include <cstring>
#include <string>

#include "tests/fuzz/check.h"

using namespace ppv2;

namespace {

// The other readers of addresses as text: what they take means the same in its own spelling.
void read_as_text(std::string_view text) {
  char out[kAddressTextSize];
  if (const auto address = Address::parse(text)) check(Address::parse(address->text(out)) == address);
  if (const auto cidr = Cidr::parse(text)) check(cidr->contains(cidr->base) && !cidr->base.is_v4_mapped());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_as_text({reinterpret_cast<const char*>(data), size});
  const std::string line = "PROXY " + std::string(reinterpret_cast<const char*>(data), size);
  const Bytes bytes{reinterpret_cast<const std::byte*>(line.data()), line.size()};
  const Decoded decoded = decode(bytes);
  check(decoded.outcome != Outcome::not_proxy);
  if (decoded.outcome != Outcome::header) return 0;
  check(decoded.header_length <= kV1MaxLine);
  check(line.compare(decoded.header_length - 2, 2, "\r\n") == 0);
  if (!decoded.claim.has_addresses()) return 0;

  const std::string source = line.substr(11, line.find(' ', 11) - 11);
  std::uint8_t expected[16] = {};
  const bool ipv6 = decoded.claim.family == Family::inet6;
  check(inet_pton(ipv6 ? AF_INET6 : AF_INET, source.c_str(), expected) == 1);
  check(std::memcmp(expected, decoded.claim.source.bytes.data(), ipv6 ? 16 : 4) == 0);

  // Written again it has one spelling, which means the same.
  char again[kV1MaxLine];
  const std::size_t length = encode_v1(again, decoded.claim.source, decoded.claim.destination);
  check(length != 0 && length <= decoded.header_length + 16);
  const Decoded twice = decode({reinterpret_cast<const std::byte*>(again), length});
  check(twice.outcome == Outcome::header);
  check(twice.claim.source == decoded.claim.source && twice.claim.destination == decoded.claim.destination);
  return 0;
}
