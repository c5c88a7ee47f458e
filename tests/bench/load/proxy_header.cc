#include "tests/bench/load/proxy_header.h"

#include <algorithm>
#include <charconv>

namespace ravelin::bench {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kV2Signature = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr std::string_view kV1Signature = "PROXY "sv;
constexpr std::size_t kV1Longest = 107;  // proxy-protocol.txt, section 2.1
constexpr std::size_t kV2Fixed = 16;

constexpr ProxyHeader wrong(HeaderKind kind) {
  return {HeaderState::wrong, kind, 0, 0};
}

std::uint16_t big_endian_16(std::string_view bytes) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[0]) << 8 | static_cast<unsigned char>(bytes[1]));
}

ProxyHeader read_v2(std::string_view bytes) {
  if (bytes.size() < kV2Fixed) return {};
  const auto version_command = static_cast<unsigned char>(bytes[12]);
  const auto family = static_cast<unsigned char>(bytes[13]);
  if (version_command != 0x21 && version_command != 0x20) return wrong(HeaderKind::v2);
  const std::size_t length = kV2Fixed + big_endian_16(bytes.substr(14));
  if (bytes.size() < length) return {};
  // Addresses stand source, destination, source port, destination port; 4 bytes each in 0x11, 16 in 0x21.
  const std::size_t port_at = family == 0x11 ? kV2Fixed + 8 : kV2Fixed + 32;
  const bool has_port = (family == 0x11 || family == 0x21) && port_at + 4 <= length;
  return {HeaderState::complete, HeaderKind::v2, length,
          has_port ? big_endian_16(bytes.substr(port_at)) : std::uint16_t{0}};
}

// "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
ProxyHeader read_v1(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kV1Longest).find("\r\n");
  if (end == std::string_view::npos) return bytes.size() < kV1Longest ? ProxyHeader{} : wrong(HeaderKind::v1);
  std::string_view line = bytes.substr(0, end);
  const std::size_t last = line.rfind(' ');
  line = line.substr(0, last);
  const std::string_view port = line.substr(line.rfind(' ') + 1);
  std::uint16_t number = 0;
  if (std::from_chars(port.data(), port.data() + port.size(), number).ec != std::errc()) return wrong(HeaderKind::v1);
  return {HeaderState::complete, HeaderKind::v1, end + 2, number};
}

// Whether `bytes` is a signature or the beginning of one.
bool begins(std::string_view bytes, std::string_view signature) {
  const std::size_t common = std::min(bytes.size(), signature.size());
  return bytes.substr(0, common) == signature.substr(0, common);
}

}  // namespace

ProxyHeader read_proxy_header(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (begins(bytes, kV2Signature)) return read_v2(bytes);
  if (begins(bytes, kV1Signature)) return read_v1(bytes);
  return {HeaderState::complete, HeaderKind::none, 0, 0};
}

}  // namespace ravelin::bench
