// The type-length-value fields behind the addresses of a v2 header (proxy-protocol.txt section 2.2): a view into the
// caller's bytes, read lazily and in the order sent, duplicates included. A view that decode() gave has been validated
// once, so iterating cannot leave it. Values are bytes with a length: they may hold NUL, line ends and broken UTF-8, so
// escape them before they reach a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ppv2/export.h"

namespace ppv2 {

using Bytes = std::span<const std::byte>;  // somebody else's, and as long-lived

// What a field is about. Types that are not here are kept all the same.
enum TlvType : std::uint8_t {
  kAlpn = 0x01,           // 2.2.1: bytes, the protocol that TLS agreed on
  kAuthority = 0x02,      // 2.2.2: UTF-8, the host name that the client asked for
  kCrc32c = 0x03,         // 2.2.3: four bytes, of the whole header
  kNoop = 0x04,           // 2.2.4: padding
  kUniqueId = 0x05,       // 2.2.5: at most 128 bytes
  kSsl = 0x20,            // 2.2.6: see Ssl; the types up to 0x28 stand inside it
  kSslVersion = 0x21,     // US-ASCII
  kSslCn = 0x22,          // UTF-8
  kSslCipher = 0x23,      // US-ASCII
  kSslSigAlg = 0x24,      // US-ASCII
  kSslKeyAlg = 0x25,      // US-ASCII
  kSslGroup = 0x26,       // US-ASCII
  kSslSigScheme = 0x27,   // US-ASCII
  kSslClientCert = 0x28,  // DER
  kNetns = 0x30,          // 2.2.7: US-ASCII
  kCustomFirst = 0xE0,    // 2.2.8: from here to kCustomLast types belong to whoever runs both ends
  kGcpPscId = 0xE0,       // Google's: eight bytes
  kAwsVpce = 0xEA,        // AWS's: a subtype, then bytes
  kAzureLink = 0xEE,      // Azure's: a subtype, then bytes
  kCustomLast = 0xEF,     // 0xF0 to 0xF7 are for experiments, 0xF8 to 0xFF for the future
};

constexpr std::size_t kTlvHeaderSize = 3;  // bytes: type, and length in network order
constexpr std::size_t kUniqueIdMax = 128;  // bytes (2.2.5)
constexpr std::size_t kSslFixedSize = 5;   // bytes in front of the fields inside SSL (2.2.6)

// "ALPN", "SSL_CN", "CUSTOM", "EXPERIMENT", "FUTURE", or "UNKNOWN".
[[nodiscard]] PPV2_EXPORT std::string_view tlv_name(std::uint8_t type) noexcept;

// One field.
struct Tlv {
  std::uint8_t type = 0;  // a TlvType, or any other number
  Bytes value;            // inside the header

  // The value as characters, which says nothing of their kind.
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
  }
};

struct Ssl;

// The fields of a header, or those inside its SSL field: a range of Tlv.
class TlvView {
 public:
  // Steps from field to field without a check, since the view has been validated.
  class Iterator {
   public:
    using value_type = Tlv;                  // made when it is asked for
    using difference_type = std::ptrdiff_t;  // as std::forward_iterator wants it

    Iterator() noexcept = default;                                // equal to others like it, and no more
    explicit Iterator(const std::byte* at) noexcept : at_(at) {}  // at the first byte of a field

    // The field here.
    Tlv operator*() const noexcept { return {static_cast<std::uint8_t>(at_[0]), {at_ + kTlvHeaderSize, length()}}; }
    // To the next one.
    Iterator& operator++() noexcept {
      at_ += kTlvHeaderSize + length();
      return *this;
    }
    // The same, and where it was.
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    // At the same field.
    bool operator==(const Iterator&) const noexcept = default;

   private:
    [[nodiscard]] std::size_t length() const noexcept {
      return (static_cast<std::size_t>(at_[1]) << 8) | static_cast<std::size_t>(at_[2]);
    }
    const std::byte* at_ = nullptr;
  };

  TlvView() noexcept = default;  // of no field

  // Nothing if a field does not end exactly inside `block`.
  [[nodiscard]] PPV2_EXPORT static std::optional<TlvView> over(Bytes block) noexcept;
  // For a block that is known to be whole, as decode() has made sure.
  [[nodiscard]] static TlvView over_valid(Bytes block) noexcept { return TlvView(block); }

  [[nodiscard]] Iterator begin() const noexcept { return Iterator(block_.data()); }                // the first field
  [[nodiscard]] Iterator end() const noexcept { return Iterator(block_.data() + block_.size()); }  // behind the last
  [[nodiscard]] bool empty() const noexcept { return block_.empty(); }                             // no field
  [[nodiscard]] Bytes bytes() const noexcept { return block_; }                                    // all, as sent

  // The first field of a type counts where a type is sent twice.
  [[nodiscard]] PPV2_EXPORT std::optional<Tlv> find(std::uint8_t type) const noexcept;
  // The same as characters.
  [[nodiscard]] PPV2_EXPORT std::optional<std::string_view> text(std::uint8_t type) const noexcept;

  // The protocol that TLS agreed on (2.2.1).
  [[nodiscard]] std::optional<std::string_view> alpn() const noexcept { return text(kAlpn); }
  // The host name that the client asked for (2.2.2).
  [[nodiscard]] std::optional<std::string_view> authority() const noexcept { return text(kAuthority); }
  // The sender's name for the connection, opaque (2.2.5).
  [[nodiscard]] std::optional<std::string_view> unique_id() const noexcept { return text(kUniqueId); }
  // The network namespace that the client came through (2.2.7).
  [[nodiscard]] std::optional<std::string_view> netns() const noexcept { return text(kNetns); }
  // The checksum as sent (2.2.3); CrcState says whether it fits.
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint32_t> crc32c() const noexcept;
  // What the sender says of TLS (2.2.6); nothing if it is broken, which decode() refuses in a PROXY header.
  [[nodiscard]] PPV2_EXPORT std::optional<Ssl> ssl() const noexcept;

  // AWS's VPC endpoint id (0xEA, subtype 1): "vpce-...".
  [[nodiscard]] PPV2_EXPORT std::optional<std::string_view> aws_vpce_id() const noexcept;
  // Azure's private link id (0xEE, subtype 1), which is little-endian.
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint32_t> azure_link_id() const noexcept;
  // Google's Private Service Connect id (0xE0, eight bytes in network order).
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint64_t> gcp_psc_id() const noexcept;

 private:
  explicit TlvView(Bytes block) noexcept : block_(block) {}
  Bytes block_;
};

// What the sender says of the client's TLS. `verify` is 0 also where there was no certificate, so ask verified().
struct Ssl {
  static constexpr std::uint8_t kTls = 1;       // a bit of `client`: the client used TLS
  static constexpr std::uint8_t kCertConn = 2;  // and gave a certificate on this connection
  static constexpr std::uint8_t kCertSess = 4;  // or on one before, of the same session

  std::uint8_t client = 0;   // the bits above
  std::uint32_t verify = 0;  // 0 if nothing was found wrong with the certificate, if there was one
  TlvView fields;            // those inside

  // The client used TLS.
  [[nodiscard]] bool is_tls() const noexcept { return (client & kTls) != 0; }
  // A certificate was given on this connection or session, and the sender found it good.
  [[nodiscard]] bool verified() const noexcept { return verify == 0 && (client & (kCertConn | kCertSess)) != 0; }

  // "TLSv1.3".
  [[nodiscard]] std::optional<std::string_view> version() const noexcept { return fields.text(kSslVersion); }
  // The common name in the client's certificate, UTF-8.
  [[nodiscard]] std::optional<std::string_view> cn() const noexcept { return fields.text(kSslCn); }
  // "TLS_AES_256_GCM_SHA384".
  [[nodiscard]] std::optional<std::string_view> cipher() const noexcept { return fields.text(kSslCipher); }
  // How the certificate is signed that the sender showed.
  [[nodiscard]] std::optional<std::string_view> sig_alg() const noexcept { return fields.text(kSslSigAlg); }
  // That certificate's kind of key.
  [[nodiscard]] std::optional<std::string_view> key_alg() const noexcept { return fields.text(kSslKeyAlg); }
  // The group of the key exchange.
  [[nodiscard]] std::optional<std::string_view> group() const noexcept { return fields.text(kSslGroup); }
  // How the handshake was signed.
  [[nodiscard]] std::optional<std::string_view> sig_scheme() const noexcept { return fields.text(kSslSigScheme); }
  // The client's certificate, DER.
  [[nodiscard]] std::optional<std::string_view> client_cert() const noexcept { return fields.text(kSslClientCert); }
};

}  // namespace ppv2
