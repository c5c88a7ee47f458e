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

using Bytes = std::span<const std::byte>;

enum TlvType : std::uint8_t {
  kAlpn = 0x01,
  kAuthority = 0x02,
  kCrc32c = 0x03,
  kNoop = 0x04,
  kUniqueId = 0x05,
  kSsl = 0x20,
  kSslVersion = 0x21,
  kSslCn = 0x22,
  kSslCipher = 0x23,
  kSslSigAlg = 0x24,
  kSslKeyAlg = 0x25,
  kSslGroup = 0x26,
  kSslSigScheme = 0x27,
  kSslClientCert = 0x28,
  kNetns = 0x30,
  kCustomFirst = 0xE0,  // 0xE0-0xEF belong to whoever runs both ends
  kGcpPscId = 0xE0,
  kAwsVpce = 0xEA,
  kAzureLink = 0xEE,
  kCustomLast = 0xEF,
};

constexpr std::size_t kTlvHeaderSize = 3;
constexpr std::size_t kUniqueIdMax = 128;
constexpr std::size_t kSslFixedSize = 5;

// "ALPN", "SSL_CN", "CUSTOM", "EXPERIMENT", "FUTURE", or "UNKNOWN".
[[nodiscard]] PPV2_EXPORT std::string_view tlv_name(std::uint8_t type) noexcept;

struct Tlv {
  std::uint8_t type = 0;
  Bytes value;

  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
  }
};

struct Ssl;

class TlvView {
 public:
  class Iterator {
   public:
    using value_type = Tlv;
    using difference_type = std::ptrdiff_t;

    Iterator() noexcept = default;
    explicit Iterator(const std::byte* at) noexcept : at_(at) {}
    Tlv operator*() const noexcept { return {static_cast<std::uint8_t>(at_[0]), {at_ + kTlvHeaderSize, length()}}; }
    Iterator& operator++() noexcept {
      at_ += kTlvHeaderSize + length();
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const noexcept = default;

   private:
    [[nodiscard]] std::size_t length() const noexcept {
      return (static_cast<std::size_t>(at_[1]) << 8) | static_cast<std::size_t>(at_[2]);
    }
    const std::byte* at_ = nullptr;
  };

  TlvView() noexcept = default;
  // Nothing if a field does not end exactly inside `block`.
  [[nodiscard]] PPV2_EXPORT static std::optional<TlvView> over(Bytes block) noexcept;
  // For a block that is known to be whole, as decode() has made sure.
  [[nodiscard]] static TlvView over_valid(Bytes block) noexcept { return TlvView(block); }

  [[nodiscard]] Iterator begin() const noexcept { return Iterator(block_.data()); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(block_.data() + block_.size()); }
  [[nodiscard]] bool empty() const noexcept { return block_.empty(); }
  [[nodiscard]] Bytes bytes() const noexcept { return block_; }

  // The first field of a type counts where a type is sent twice.
  [[nodiscard]] PPV2_EXPORT std::optional<Tlv> find(std::uint8_t type) const noexcept;
  [[nodiscard]] PPV2_EXPORT std::optional<std::string_view> text(std::uint8_t type) const noexcept;

  [[nodiscard]] std::optional<std::string_view> alpn() const noexcept { return text(kAlpn); }
  [[nodiscard]] std::optional<std::string_view> authority() const noexcept { return text(kAuthority); }
  [[nodiscard]] std::optional<std::string_view> unique_id() const noexcept { return text(kUniqueId); }
  [[nodiscard]] std::optional<std::string_view> netns() const noexcept { return text(kNetns); }
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint32_t> crc32c() const noexcept;
  [[nodiscard]] PPV2_EXPORT std::optional<Ssl> ssl() const noexcept;

  // Of the clouds: AWS's VPC endpoint id (0xEA, subtype 1), Azure's private link id (0xEE, subtype 1, little-endian)
  // and Google's Private Service Connect id (0xE0, 8 bytes).
  [[nodiscard]] PPV2_EXPORT std::optional<std::string_view> aws_vpce_id() const noexcept;
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint32_t> azure_link_id() const noexcept;
  [[nodiscard]] PPV2_EXPORT std::optional<std::uint64_t> gcp_psc_id() const noexcept;

 private:
  explicit TlvView(Bytes block) noexcept : block_(block) {}
  Bytes block_;
};

// What the sender says of the client's TLS. `verify` is 0 also where there was no certificate, so ask verified().
struct Ssl {
  static constexpr std::uint8_t kTls = 1;
  static constexpr std::uint8_t kCertConn = 2;
  static constexpr std::uint8_t kCertSess = 4;

  std::uint8_t client = 0;  // the bits above
  std::uint32_t verify = 0;
  TlvView fields;

  [[nodiscard]] bool is_tls() const noexcept { return (client & kTls) != 0; }
  // A certificate was given on this connection or session, and the sender found it good.
  [[nodiscard]] bool verified() const noexcept { return verify == 0 && (client & (kCertConn | kCertSess)) != 0; }

  [[nodiscard]] std::optional<std::string_view> version() const noexcept { return fields.text(kSslVersion); }
  [[nodiscard]] std::optional<std::string_view> cn() const noexcept { return fields.text(kSslCn); }
  [[nodiscard]] std::optional<std::string_view> cipher() const noexcept { return fields.text(kSslCipher); }
  [[nodiscard]] std::optional<std::string_view> sig_alg() const noexcept { return fields.text(kSslSigAlg); }
  [[nodiscard]] std::optional<std::string_view> key_alg() const noexcept { return fields.text(kSslKeyAlg); }
  [[nodiscard]] std::optional<std::string_view> group() const noexcept { return fields.text(kSslGroup); }
  [[nodiscard]] std::optional<std::string_view> sig_scheme() const noexcept { return fields.text(kSslSigScheme); }
  [[nodiscard]] std::optional<std::string_view> client_cert() const noexcept {
    return fields.text(kSslClientCert);
  }  // DER
};

}  // namespace ppv2
