// The input drives the encoder; what it writes is a valid header with the same fields, or nothing at all.
#include <ppv2/encoder.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/fuzz/check.h"

using namespace ppv2;

namespace {

// Takes the input apart; zeros when it has ended.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  Bytes bytes(std::size_t size) {
    size = std::min(size, left_);
    const Bytes taken{reinterpret_cast<const std::byte*>(data_), size};
    data_ += size;
    left_ -= size;
    return taken;
  }
  Address address() {
    Address address;
    address.family = byte() % 2 == 0 ? Family::inet : Family::inet6;
    address.port = static_cast<std::uint16_t>(byte() << 8 | byte());
    const Bytes raw = bytes(address.family == Family::inet ? 4 : 16);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size(), address.bytes.begin());
    return address;
  }
  [[nodiscard]] bool ended() const { return left_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t room = static_cast<std::size_t>(input.byte()) * 16;
  const auto buffer = std::make_unique<std::byte[]>(room);
  const std::span<std::byte> out{buffer.get(), room};
  const Address source = input.address();
  const Address destination = input.address();
  const bool local = input.byte() % 8 == 0;
  Encoder encoder = local ? Encoder::local(out) : Encoder::proxy(out, source, destination);
  std::vector<Tlv> added;
  for (bool crc = false; !input.ended();) {
    const std::uint8_t type = input.byte();
    if (type == kCrc32c) {
      if (!crc) encoder.crc32c();
      crc = true;
    } else if (type == kNoop) {
      encoder.pad_to(input.byte());
    } else if (type == kSsl) {
      encoder.ssl({.client = input.byte(), .version = "TLSv1.3"});
    } else {
      const Bytes value = input.bytes(input.byte());
      if (type == kUniqueId) {
        encoder.unique_id({reinterpret_cast<const char*>(value.data()), value.size()});
      } else {
        encoder.tlv(type, value);
      }
      added.push_back({type, value});
    }
  }
  const std::size_t written = encoder.finish();
  if (written == 0) return 0;

  const DecodeOptions options{.max_header = 0xFFFF + 16};
  const Decoded decoded = decode({buffer.get(), written}, options);
  check(decoded.outcome == Outcome::header && decoded.header_length == written);
  if (!local) {
    check(decoded.claim.source.unmapped() == source.unmapped());
    check(decoded.claim.destination.unmapped() == destination.unmapped());
  }
  auto wanted = added.begin();
  for (const Tlv tlv : decoded.claim.tlvs) {
    if (tlv.type == kCrc32c || tlv.type == kNoop || tlv.type == kSsl) continue;
    check(wanted != added.end() && wanted->type == tlv.type && std::ranges::equal(wanted->value, tlv.value));
    ++wanted;
  }
  check(wanted == added.end());

  // And decoding it, then encoding again, gives the same bytes.
  const auto second = std::make_unique<std::byte[]>(written);
  Encoder again = Encoder::repeat({second.get(), written}, decoded.claim);
  for (const Tlv tlv : decoded.claim.tlvs) tlv.type == kCrc32c ? again.crc32c() : again.tlv(tlv.type, tlv.value);
  check(again.finish() == written && std::memcmp(second.get(), buffer.get(), written) == 0);
  return 0;
}
