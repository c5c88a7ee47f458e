// The C ABI of the decoder and the encoder.
#include "ppv2/c_structs.h"
#include "ppv2/encoder.h"

namespace ppv2 {
namespace {

template <typename Enum>
constexpr bool same(int value, Enum wanted) {
  return value == static_cast<int>(wanted);
}
static_assert(same(PPV2_NEED_MORE, Outcome::need_more) && same(PPV2_HEADER, Outcome::header) &&
              same(PPV2_NOT_PROXY, Outcome::not_proxy) && same(PPV2_REJECT, Outcome::reject));
static_assert(same(PPV2_KIND_NONE, Kind::none) && same(PPV2_KIND_TLS, Kind::tls) &&
              same(PPV2_KIND_HTTP1, Kind::http1) && same(PPV2_KIND_H2C, Kind::h2c) &&
              same(PPV2_KIND_OTHER, Kind::other));
static_assert(same(PPV2_LOCAL, Command::local) && same(PPV2_PROXY, Command::proxy));
static_assert(same(PPV2_UNSPEC, Family::unspec) && same(PPV2_INET, Family::inet) && same(PPV2_INET6, Family::inet6) &&
              same(PPV2_UNIX, Family::unix_domain));
static_assert(same(PPV2_TRANSPORT_UNSPEC, Transport::unspec) && same(PPV2_STREAM, Transport::stream) &&
              same(PPV2_DGRAM, Transport::dgram));
static_assert(same(PPV2_CRC_IGNORE, Crc::ignore) && same(PPV2_CRC_IF_PRESENT, Crc::if_present) &&
              same(PPV2_CRC_REQUIRED, Crc::required));
static_assert(same(PPV2_CRC_ABSENT, CrcState::absent) && same(PPV2_CRC_VERIFIED, CrcState::verified) &&
              same(PPV2_CRC_UNCHECKED, CrcState::unchecked));
static_assert(PPV2_ADDRESS_TEXT == kAddressTextSize && PPV2_V1_MAX == kV1MaxLine);

constexpr ppv2_options kDefaults{sizeof(ppv2_options), 4096, 1, 1, 0, PPV2_CRC_IF_PRESENT};

Reason reason_of(int reason) noexcept {
  return reason > 0 && static_cast<std::size_t>(reason) < kReasonCount ? static_cast<Reason>(reason) : Reason::none;
}

}  // namespace

DecodeOptions to_cpp(const ppv2_options* options) noexcept {
  const ppv2_options given = take_struct(options, kDefaults);
  DecodeOptions result;
  result.max_header = given.max_header;
  result.v1 = given.v1 != 0;
  result.v2 = given.v2 != 0;
  result.v4_in_tcp6 = given.v4_in_tcp6 != 0;
  result.crc = given.crc == PPV2_CRC_IGNORE     ? Crc::ignore
               : given.crc == PPV2_CRC_REQUIRED ? Crc::required
                                                : Crc::if_present;
  return result;
}

ppv2_decoded to_c(const Decoded& decoded) noexcept {
  const Claim& claim = decoded.claim;
  ppv2_decoded result{};
  result.outcome = static_cast<std::int32_t>(decoded.outcome);
  result.reason = static_cast<std::int32_t>(decoded.reason);
  result.kind = static_cast<std::int32_t>(decoded.kind);
  result.offset = decoded.offset;
  result.header_length = decoded.header_length;
  result.wanted = decoded.wanted;
  result.version = static_cast<std::uint8_t>(decoded.version);
  result.command = static_cast<std::uint8_t>(claim.command);
  result.family = static_cast<std::uint8_t>(claim.family);
  result.transport = static_cast<std::uint8_t>(claim.transport);
  result.crc = static_cast<std::uint8_t>(claim.crc);
  result.source = to_c(claim.source);
  result.destination = to_c(claim.destination);
  result.unix_paths = claim.unix_paths;
  result.tlvs = claim.tlvs.bytes().data();
  result.tlvs_size = claim.tlvs.bytes().size();
  return result;
}

}  // namespace ppv2

using namespace ppv2;

extern "C" {

void ppv2_options_init(ppv2_options* options) {
  give_struct(kDefaults, options);
}

int ppv2_decode(const void* bytes, size_t size, const ppv2_options* options, ppv2_decoded* out) {
  const Decoded decoded = decode(to_bytes(bytes, size), to_cpp(options));
  give_struct(to_c(decoded), out);
  return static_cast<int>(decoded.outcome);
}

int ppv2_classify(const void* bytes, size_t size) {
  return static_cast<int>(classify(to_bytes(bytes, size)));
}

// Both views come from literals, so NUL follows them.
const char* ppv2_reason_name(int reason) {
  return name(reason_of(reason)).data();
}
const char* ppv2_reason_text(int reason) {
  return text(reason_of(reason)).data();
}

int ppv2_tlv_next(const void* tlvs, size_t size, size_t* position, ppv2_tlv* out) {
  const Bytes block = to_bytes(tlvs, size);
  if (*position > size || size - *position < kTlvHeaderSize) return 0;
  const std::byte* const at = block.data() + *position;
  const size_t length = (static_cast<size_t>(at[1]) << 8) | static_cast<size_t>(at[2]);
  if (length > size - *position - kTlvHeaderSize) return 0;
  *out = {at + kTlvHeaderSize, length, static_cast<uint8_t>(at[0])};
  *position += kTlvHeaderSize + length;
  return 1;
}

int ppv2_tlv_find(const void* tlvs, size_t size, uint8_t type, ppv2_tlv* out) {
  ppv2_tlv tlv;
  for (size_t position = 0; ppv2_tlv_next(tlvs, size, &position, &tlv) != 0;) {
    if (tlv.type != type) continue;
    *out = tlv;
    return 1;
  }
  return 0;
}

int ppv2_address_from(const sockaddr* address, socklen_t length, ppv2_address* out) {
  *out = to_c(Address::from(address, length));
  return out->family == PPV2_UNSPEC ? 0 : 1;
}

socklen_t ppv2_address_to(const ppv2_address* address, sockaddr_storage* out) {
  return to_cpp(*address).to(*out);
}

size_t ppv2_address_text(const ppv2_address* address, char* out, size_t room) {
  if (room <= kAddressTextSize) return 0;
  const std::string_view text = to_cpp(*address).text(std::span<char, kAddressTextSize>(out, kAddressTextSize));
  out[text.size()] = '\0';
  return text.size();
}

size_t ppv2_encode_v1(char* out, size_t room, const ppv2_address* source, const ppv2_address* destination) {
  return encode_v1({out, room}, to_cpp(*source), to_cpp(*destination));
}

size_t ppv2_encode_v2(void* out, size_t room, const ppv2_address* source, const ppv2_address* destination,
                      const ppv2_tlv* tlvs, size_t tlv_count) {
  const std::span<std::byte> buffer{static_cast<std::byte*>(out), room};
  Encoder encoder = source == nullptr || destination == nullptr
                        ? Encoder::local(buffer)
                        : Encoder::proxy(buffer, to_cpp(*source), to_cpp(*destination));
  for (size_t i = 0; i < tlv_count; ++i) {
    if (tlvs[i].type == kCrc32c) {
      encoder.crc32c();
    } else {
      encoder.tlv(tlvs[i].type, to_bytes(tlvs[i].value, tlvs[i].length));
    }
  }
  return encoder.finish();
}

}  // extern "C"
