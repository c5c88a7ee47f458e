// Writes PROXY protocol headers into a buffer of the caller's. No allocation, no I/O, any thread (one encoder, one
// thread). A header that does not fit is not written: the size is 0 and nothing past the buffer is touched. Two ends of
// different families become IPv6 with mapped addresses, since a header has one family (proxy-protocol.txt section 2.2).
//
//   std::array<std::byte, 536> out;
//   const std::size_t n = ppv2::Encoder::proxy(out, client, server).unique_id(id).crc32c().finish();
//   send(fd, out.data(), n, 0);  // first, and in one write
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ppv2/address.h"
#include "ppv2/decoder.h"
#include "ppv2/export.h"
#include "ppv2/tlv.h"

namespace ppv2 {

// What a sender that ended TLS knows of it. Empty fields are left out.
struct SslFields {
  std::uint8_t client = 0;       // bits of Ssl
  std::uint32_t verify = 0;      // 0 if the client's certificate was found good
  std::string_view version;      // "TLSv1.3"
  std::string_view cn;           // UTF-8, of the client's certificate
  std::string_view cipher;       // "TLS_AES_256_GCM_SHA384"
  std::string_view sig_alg;      // of the certificate that the frontend showed, "SHA256"
  std::string_view key_alg;      // of the same, "RSA2048"
  std::string_view group;        // of the key exchange, "secp256r1"
  std::string_view sig_scheme;   // of the handshake, "ecdsa_secp256r1_sha256"
  std::string_view client_cert;  // DER, of the client
};

// "PROXY TCP4 192.0.2.1 198.51.100.1 4000 443\r\n"; 107 bytes are enough for every line. Both ends must be IP
// addresses, otherwise "PROXY UNKNOWN\r\n", which many receivers refuse: prefer v2 LOCAL.
[[nodiscard]] PPV2_EXPORT std::size_t encode_v1(std::span<char> out, const Address& source,
                                                const Address& destination) noexcept;
// A v2 PROXY header without TLVs, TCP over IPv4 or IPv6; 52 bytes are enough. 0 if an end is no IP address.
[[nodiscard]] PPV2_EXPORT std::size_t encode_v2(std::span<std::byte> out, const Address& source,
                                                const Address& destination) noexcept;

// Builds one header from its start to its end; fields stand in the order of the calls, and finish() is the last. A call
// that does not fit or breaks a limit makes finish() return 0, so only that has to be looked at.
class Encoder {
 public:
  // LOCAL: the proxy speaks for itself, as its health checks do.
  [[nodiscard]] PPV2_EXPORT static Encoder local(std::span<std::byte> out) noexcept;
  // Ends that are not both IP addresses give PROXY with UNSPEC, which claims nothing.
  [[nodiscard]] PPV2_EXPORT static Encoder proxy(std::span<std::byte> out, const Address& source,
                                                 const Address& destination,
                                                 Transport transport = Transport::stream) noexcept;
  // Paths of up to 108 bytes; a first byte of NUL is an abstract name.
  [[nodiscard]] PPV2_EXPORT static Encoder proxy_unix(std::span<std::byte> out, std::string_view source,
                                                      std::string_view destination,
                                                      Transport transport = Transport::stream) noexcept;
  // The same addresses and command as a claim, without its TLVs.
  [[nodiscard]] PPV2_EXPORT static Encoder repeat(std::span<std::byte> out, const Claim& claim) noexcept;

  // Any field, as given. Use the functions below for types that have a limit.
  PPV2_EXPORT Encoder& tlv(std::uint8_t type, Bytes value) noexcept;
  // The same of a text.
  PPV2_EXPORT Encoder& tlv(std::uint8_t type, std::string_view value) noexcept;
  // Those of another header, in order: NOOP is dropped, CRC32C computed anew where it stood.
  PPV2_EXPORT Encoder& tlvs(const TlvView& view) noexcept;
  // 2.2.1: "h2".
  Encoder& alpn(std::string_view value) noexcept { return tlv(kAlpn, value); }
  // 2.2.2: the host name that the client asked for.
  Encoder& authority(std::string_view value) noexcept { return tlv(kAuthority, value); }
  // 2.2.7: the name of a network namespace.
  Encoder& netns(std::string_view value) noexcept { return tlv(kNetns, value); }
  // 2.2.5: at most 128 bytes, else the header fails.
  PPV2_EXPORT Encoder& unique_id(std::string_view value) noexcept;
  // 2.2.6: what of `fields` is not empty.
  PPV2_EXPORT Encoder& ssl(const SslFields& fields) noexcept;
  // Room for the checksum; finish() fills it, over everything that was added before and after. Once a header.
  PPV2_EXPORT Encoder& crc32c() noexcept;
  // NOOP bytes (zeros) so that the header's size becomes a multiple of `unit`; a NOOP takes three bytes at least.
  PPV2_EXPORT Encoder& pad_to(std::size_t unit) noexcept;

  // The header's size, or 0 if it did not fit or broke a limit.
  [[nodiscard]] PPV2_EXPORT std::size_t finish() noexcept;

 private:
  explicit Encoder(std::span<std::byte> out) noexcept : out_(out) {}
  Encoder& start(Command command, Family family, Transport transport, std::size_t address_size) noexcept;
  std::byte* take(std::size_t size) noexcept;  // null, and failed_, if it does not fit
  void put_tlv(std::uint8_t type, const void* value, std::size_t size) noexcept;

  std::span<std::byte> out_;
  std::size_t size_ = 0;
  std::size_t crc_at_ = 0;  // offset of the checksum's value, 0 without one
  bool failed_ = false;
};

}  // namespace ppv2
