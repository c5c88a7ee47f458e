#include "ppv2/encoder.h"

#include <algorithm>
#include <cstring>

#include "ppv2/bytes.h"
#include "ppv2/crc32c.h"
#include "ppv2/wire.h"

namespace ppv2 {
namespace {

constexpr std::size_t kNoCrc = 0;
constexpr std::size_t kMaxLength = 0xFFFF;

void put_fixed(std::byte* out, Command command, Family family, Transport transport, std::size_t length) noexcept {
  std::memcpy(out, kV2Signature, sizeof kV2Signature);
  out[12] = static_cast<std::byte>(0x20 | static_cast<unsigned>(command));
  out[13] = static_cast<std::byte>(static_cast<unsigned>(family) << 4 | static_cast<unsigned>(transport));
  store_be16(out + 14, static_cast<std::uint16_t>(length));
}

void put_ipv4(std::byte* block, const Address& source, const Address& destination) noexcept {
  std::memcpy(block, source.bytes.data(), 4);
  std::memcpy(block + 4, destination.bytes.data(), 4);
  store_be16(block + 8, source.port);
  store_be16(block + 10, destination.port);
}

void put_as_ipv6(std::byte* out, const Address& address) noexcept {
  if (address.family == Family::inet6) {
    std::memcpy(out, address.bytes.data(), 16);
    return;
  }
  constexpr std::uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  std::memcpy(out, kMappedPrefix, sizeof kMappedPrefix);
  std::memcpy(out + sizeof kMappedPrefix, address.bytes.data(), 4);
}

void put_ipv6(std::byte* block, const Address& source, const Address& destination) noexcept {
  put_as_ipv6(block, source);
  put_as_ipv6(block + 16, destination);
  store_be16(block + 32, source.port);
  store_be16(block + 34, destination.port);
}

bool both_ipv4(const Address& source, const Address& destination) noexcept {
  return source.family == Family::inet && destination.family == Family::inet;
}

inline void put_ends(std::byte* block, bool ipv4, const Address& source, const Address& destination) noexcept {
  if (ipv4) return put_ipv4(block, source, destination);
  put_ipv6(block, source, destination);
}

struct Text {
  char bytes[kV1MaxLine + 1];
  std::size_t size = 0;

  void add(std::string_view text) noexcept {
    std::memcpy(bytes + size, text.data(), text.size());
    size += text.size();
  }
};

}  // namespace

std::size_t encode_v1(std::span<char> out, const Address& source, const Address& destination) noexcept {
  Text line;
  if (!source.is_ip() || !destination.is_ip()) {
    line.add("PROXY UNKNOWN\r\n");
  } else {
    const bool ipv4 = both_ipv4(source, destination);
    char host[kAddressTextSize];
    char port[kAddressTextSize];
    line.add(ipv4 ? "PROXY TCP4 " : "PROXY TCP6 ");
    for (const Address& end : {source, destination}) {
      line.add((ipv4 ? end : end.mapped()).host(host));
      line.add(" ");
    }
    // A port's text is the tail of "0.0.0.0:PORT".
    constexpr std::size_t kPrefix = sizeof "0.0.0.0:" - 1;
    std::string_view digits = Address::ipv4({}, source.port).text(port);
    digits.remove_prefix(kPrefix);
    line.add(digits);
    line.add(" ");
    digits = Address::ipv4({}, destination.port).text(port);
    digits.remove_prefix(kPrefix);
    line.add(digits);
    line.add("\r\n");
  }
  if (line.size > out.size()) return 0;
  std::memcpy(out.data(), line.bytes, line.size);
  return line.size;
}

std::size_t encode_v2(std::span<std::byte> out, const Address& source, const Address& destination) noexcept {
  if (!source.is_ip() || !destination.is_ip()) return 0;
  const bool ipv4 = both_ipv4(source, destination);
  const std::size_t block = ipv4 ? kIpv4BlockSize : kIpv6BlockSize;
  if (out.size() < kV2FixedSize + block) return 0;
  put_fixed(out.data(), Command::proxy, ipv4 ? Family::inet : Family::inet6, Transport::stream, block);
  put_ends(out.data() + kV2FixedSize, ipv4, source, destination);
  return kV2FixedSize + block;
}

std::byte* Encoder::take(std::size_t size) noexcept {
  if (failed_ || size > out_.size() - size_ || size_ + size > kV2FixedSize + kMaxLength) {
    failed_ = true;
    return nullptr;
  }
  std::byte* const at = out_.data() + size_;
  size_ += size;
  return at;
}

Encoder& Encoder::start(Command command, Family family, Transport transport, std::size_t address_size) noexcept {
  if (std::byte* const at = take(kV2FixedSize + address_size)) put_fixed(at, command, family, transport, address_size);
  return *this;
}

Encoder Encoder::local(std::span<std::byte> out) noexcept {
  Encoder encoder(out);
  return encoder.start(Command::local, Family::unspec, Transport::unspec, 0);
}

Encoder Encoder::proxy(std::span<std::byte> out, const Address& source, const Address& destination,
                       Transport transport) noexcept {
  Encoder encoder(out);
  if (!source.is_ip() || !destination.is_ip())
    return encoder.start(Command::proxy, Family::unspec, Transport::unspec, 0);
  const bool ipv4 = both_ipv4(source, destination);
  encoder.start(Command::proxy, ipv4 ? Family::inet : Family::inet6, transport, ipv4 ? kIpv4BlockSize : kIpv6BlockSize);
  if (!encoder.failed_) put_ends(out.data() + kV2FixedSize, ipv4, source, destination);
  return encoder;
}

Encoder Encoder::proxy_unix(std::span<std::byte> out, std::string_view source, std::string_view destination,
                            Transport transport) noexcept {
  Encoder encoder(out);
  encoder.start(Command::proxy, Family::unix_domain, transport, kUnixBlockSize);
  encoder.failed_ = encoder.failed_ || source.size() > kUnixPathSize || destination.size() > kUnixPathSize;
  if (encoder.failed_) return encoder;
  std::byte* const block = out.data() + kV2FixedSize;
  std::memset(block, 0, kUnixBlockSize);
  std::copy_n(reinterpret_cast<const std::byte*>(source.data()), source.size(), block);
  std::copy_n(reinterpret_cast<const std::byte*>(destination.data()), destination.size(), block + kUnixPathSize);
  return encoder;
}

Encoder Encoder::repeat(std::span<std::byte> out, const Claim& claim) noexcept {
  Encoder encoder(out);
  if (claim.command == Command::local) return encoder.start(claim.command, claim.family, claim.transport, 0);
  if (claim.unix_paths != nullptr) {
    encoder.start(claim.command, claim.family, claim.transport, kUnixBlockSize);
    if (!encoder.failed_) std::memcpy(out.data() + kV2FixedSize, claim.unix_paths, kUnixBlockSize);
    return encoder;
  }
  return proxy(out, claim.source, claim.destination, claim.transport);
}

void Encoder::put_tlv(std::uint8_t type, const void* value, std::size_t size) noexcept {
  std::byte* const at = take(kTlvHeaderSize + size);
  if (at == nullptr) return;
  at[0] = static_cast<std::byte>(type);
  store_be16(at + 1, static_cast<std::uint16_t>(size));
  if (size != 0) std::memcpy(at + kTlvHeaderSize, value, size);
}

Encoder& Encoder::tlv(std::uint8_t type, Bytes value) noexcept {
  put_tlv(type, value.data(), value.size());
  return *this;
}

Encoder& Encoder::tlv(std::uint8_t type, std::string_view value) noexcept {
  put_tlv(type, value.data(), value.size());
  return *this;
}

Encoder& Encoder::tlvs(const TlvView& view) noexcept {
  for (const Tlv field : view) {
    if (field.type == kCrc32c) {
      crc32c();
    } else if (field.type != kNoop) {
      tlv(field.type, field.value);
    }
  }
  return *this;
}

Encoder& Encoder::unique_id(std::string_view value) noexcept {
  failed_ = failed_ || value.size() > kUniqueIdMax;
  return tlv(kUniqueId, value);
}

Encoder& Encoder::ssl(const SslFields& fields) noexcept {
  const std::size_t start = size_;
  if (std::byte* const at = take(kTlvHeaderSize + kSslFixedSize)) {
    at[0] = static_cast<std::byte>(kSsl);
    at[3] = static_cast<std::byte>(fields.client);
    store_be32(at + 4, fields.verify);
  }
  const struct {
    std::uint8_t type;
    std::string_view value;
  } subs[] = {{kSslVersion, fields.version},      {kSslCn, fields.cn},
              {kSslCipher, fields.cipher},        {kSslSigAlg, fields.sig_alg},
              {kSslKeyAlg, fields.key_alg},       {kSslGroup, fields.group},
              {kSslSigScheme, fields.sig_scheme}, {kSslClientCert, fields.client_cert}};
  for (const auto& sub : subs)
    if (!sub.value.empty()) tlv(sub.type, sub.value);
  if (!failed_) store_be16(out_.data() + start + 1, static_cast<std::uint16_t>(size_ - start - kTlvHeaderSize));
  return *this;
}

Encoder& Encoder::crc32c() noexcept {
  failed_ = failed_ || crc_at_ != kNoCrc;
  constexpr std::byte kZeros[4] = {};
  put_tlv(kCrc32c, kZeros, sizeof kZeros);
  if (!failed_) crc_at_ = size_ - sizeof kZeros;
  return *this;
}

Encoder& Encoder::pad_to(std::size_t unit) noexcept {
  if (failed_ || unit == 0 || size_ % unit == 0) return *this;
  std::size_t gap = unit - size_ % unit;
  while (gap < kTlvHeaderSize) gap += unit;
  std::byte* const at = take(gap);
  if (at == nullptr) return *this;
  std::memset(at, 0, gap);
  at[0] = static_cast<std::byte>(kNoop);
  store_be16(at + 1, static_cast<std::uint16_t>(gap - kTlvHeaderSize));
  return *this;
}

std::size_t Encoder::finish() noexcept {
  if (failed_) return 0;
  store_be16(out_.data() + 14, static_cast<std::uint16_t>(size_ - kV2FixedSize));
  if (crc_at_ != kNoCrc) store_be32(out_.data() + crc_at_, header_crc32c(out_.data(), size_, crc_at_));
  return size_;
}

}  // namespace ppv2
