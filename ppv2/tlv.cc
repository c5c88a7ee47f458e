#include "ppv2/tlv.h"

#include "ppv2/bytes.h"
#include "ppv2/tlv_check.h"

namespace ppv2 {
namespace {

// True if [at, end) is a whole list of fields; otherwise `at` is left on the one that is not.
bool walk(const std::byte*& at, const std::byte* end) noexcept {
  while (at != end) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < kTlvHeaderSize) return false;
    const std::size_t length = load_be16(at + 1);
    if (length > left - kTlvHeaderSize) return false;
    at += kTlvHeaderSize + length;
  }
  return true;
}

// The limits of the types that have some.
Reason check_field(unsigned type, const std::byte*& value, std::size_t length) noexcept {
  if (type == kUniqueId && length > kUniqueIdMax) return Reason::unique_id_too_long;
  if (type != kSsl) return Reason::none;
  if (length < kSslFixedSize) return Reason::ssl_too_short;
  const std::byte* at = value + kSslFixedSize;
  if (walk(at, value + length)) return Reason::none;
  value = at;
  return Reason::ssl_tlv_overrun;
}

struct TypeName {
  std::uint8_t first;
  std::uint8_t last;
  std::string_view name;
};

constexpr TypeName kTypeNames[] = {
    {0x01, 0x01, "ALPN"},           {0x02, 0x02, "AUTHORITY"},       {0x03, 0x03, "CRC32C"},
    {0x04, 0x04, "NOOP"},           {0x05, 0x05, "UNIQUE_ID"},       {0x20, 0x20, "SSL"},
    {0x21, 0x21, "SSL_VERSION"},    {0x22, 0x22, "SSL_CN"},          {0x23, 0x23, "SSL_CIPHER"},
    {0x24, 0x24, "SSL_SIG_ALG"},    {0x25, 0x25, "SSL_KEY_ALG"},     {0x26, 0x26, "SSL_GROUP"},
    {0x27, 0x27, "SSL_SIG_SCHEME"}, {0x28, 0x28, "SSL_CLIENT_CERT"}, {0x30, 0x30, "NETNS"},
    {0xE0, 0xEF, "CUSTOM"},         {0xF0, 0xF7, "EXPERIMENT"},      {0xF8, 0xFF, "FUTURE"},
};

constexpr std::byte kSubtypeOne{0x01};

}  // namespace

TlvCheck check_tlvs(const std::byte* header, std::size_t begin, std::size_t end) noexcept {
  TlvCheck check;
  const auto fault = [&check](Reason reason, std::size_t offset) {
    check.reason = reason;
    check.offset = static_cast<std::uint32_t>(offset);
    return check;
  };
  for (std::size_t at = begin; at != end;) {
    if (end - at < kTlvHeaderSize) return fault(Reason::tlv_truncated, at);
    const auto type = static_cast<unsigned>(header[at]);
    const std::size_t length = load_be16(header + at + 1);
    const std::size_t value = at + kTlvHeaderSize;
    if (length > end - value) return fault(Reason::tlv_overrun, at);
    if (type == kCrc32c) {
      if (length != 4) return fault(Reason::crc_length, at);
      if (check.crc_value != 0) return fault(Reason::crc_twice, at);
      check.crc_value = static_cast<std::uint32_t>(value);
    } else if (type == kUniqueId || type == kSsl) {
      const std::byte* field = header + value;
      if (const Reason reason = check_field(type, field, length); reason != Reason::none)
        return fault(reason, reason == Reason::ssl_tlv_overrun ? static_cast<std::size_t>(field - header) : at);
    }
    at = value + length;
  }
  return check;
}

std::string_view tlv_name(std::uint8_t type) noexcept {
  for (const TypeName& known : kTypeNames)
    if (type >= known.first && type <= known.last) return known.name;
  return "UNKNOWN";
}

std::optional<TlvView> TlvView::over(Bytes block) noexcept {
  const std::byte* at = block.data();
  if (!walk(at, block.data() + block.size())) return std::nullopt;
  return TlvView(block);
}

std::optional<Tlv> TlvView::find(std::uint8_t type) const noexcept {
  for (const Tlv tlv : *this)
    if (tlv.type == type) return tlv;
  return std::nullopt;
}

std::optional<std::string_view> TlvView::text(std::uint8_t type) const noexcept {
  if (const auto tlv = find(type)) return tlv->text();
  return std::nullopt;
}

std::optional<std::uint32_t> TlvView::crc32c() const noexcept {
  if (const auto tlv = find(kCrc32c); tlv && tlv->value.size() == 4) return load_be32(tlv->value.data());
  return std::nullopt;
}

std::optional<Ssl> TlvView::ssl() const noexcept {
  const auto tlv = find(kSsl);
  if (!tlv || tlv->value.size() < kSslFixedSize) return std::nullopt;
  const auto fields = over(tlv->value.subspan(kSslFixedSize));
  if (!fields) return std::nullopt;
  return Ssl{static_cast<std::uint8_t>(tlv->value[0]), load_be32(tlv->value.data() + 1), *fields};
}

std::optional<std::string_view> TlvView::aws_vpce_id() const noexcept {
  for (const Tlv tlv : *this)
    if (tlv.type == kAwsVpce && !tlv.value.empty() && tlv.value[0] == kSubtypeOne) {
      std::string_view text = tlv.text();
      text.remove_prefix(1);
      return text;
    }
  return std::nullopt;
}

std::optional<std::uint32_t> TlvView::azure_link_id() const noexcept {
  for (const Tlv tlv : *this)
    if (tlv.type == kAzureLink && tlv.value.size() == 5 && tlv.value[0] == kSubtypeOne)
      return load<std::uint32_t>(tlv.value.data() + 1);  // the only little-endian number of the protocol
  return std::nullopt;
}

std::optional<std::uint64_t> TlvView::gcp_psc_id() const noexcept {
  if (const auto tlv = find(kGcpPscId); tlv && tlv->value.size() == 8) return load_be64(tlv->value.data());
  return std::nullopt;
}

}  // namespace ppv2
