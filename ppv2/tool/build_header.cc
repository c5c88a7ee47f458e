#include "ppv2/tool/build_header.h"

#include <ppv2/encoder.h>

#include <charconv>

#include "ppv2/tool/escape.h"
#include "ppv2/tool/input.h"

namespace ravelin::ppv2_tool {
namespace {

constexpr std::size_t kMostHeader = 16 + 65535;
constexpr std::string_view kUnix = "unix:";

// A path as a header carries it: "@name" is abstract.
std::string unix_path(std::string_view text) {
  std::string path(text.substr(kUnix.size()));
  if (path.starts_with('@')) path.front() = '\0';
  return path;
}

std::variant<ppv2::Tlv, HeaderError> parse_tlv(const std::string& text, std::string& value) {
  const auto equals = text.find('=');
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const char* const begin = text.data() + (is_hex ? 2 : 0);
  ppv2::Tlv tlv;
  if (equals == std::string::npos) return HeaderError{"--tlv " + text + ": not TYPE=HEX"};
  const auto [end, error] = std::from_chars(begin, text.data() + equals, tlv.type, is_hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + equals)
    return HeaderError{"--tlv " + text + ": the type is a number from 0 to 255 or 0x00 to 0xFF"};
  Input hex = parse_hex(std::string_view(text).substr(equals + 1));
  if (const auto* wrong = std::get_if<InputError>(&hex)) return HeaderError{"--tlv " + text + ": " + wrong->what};
  value = std::get<std::string>(std::move(hex));
  tlv.value = bytes_of(value);
  return tlv;
}

std::variant<ppv2::Encoder, HeaderError> start(const HeaderWords& words, std::span<std::byte> out) {
  if (words.local) return ppv2::Encoder::local(out);
  if (words.source.starts_with(kUnix) && words.destination.starts_with(kUnix))
    return ppv2::Encoder::proxy_unix(out, unix_path(words.source), unix_path(words.destination));
  const auto source = ppv2::Address::parse(words.source);
  const auto destination = ppv2::Address::parse(words.destination);
  if (!source || !source->is_ip()) return HeaderError{"--source " + words.source + ": not ADDRESS:PORT"};
  if (!destination || !destination->is_ip())
    return HeaderError{"--destination " + words.destination + ": not ADDRESS:PORT"};
  return ppv2::Encoder::proxy(out, *source, *destination);
}

std::variant<std::string, HeaderError> build_v1(const HeaderWords& words) {
  if (!words.alpn.empty() || !words.authority.empty() || !words.unique_id.empty() || !words.tlvs.empty() ||
      words.crc32c || words.pad != 0 || words.local)
    return HeaderError{"a v1 line has no LOCAL, no fields, no checksum and no padding"};
  const auto source = ppv2::Address::parse(words.source);
  const auto destination = ppv2::Address::parse(words.destination);
  if (!source || !destination || !source->is_ip() || !destination->is_ip())
    return HeaderError{"a v1 line needs --source and --destination, each ADDRESS:PORT"};
  std::string line(ppv2::kV1MaxLine, '\0');
  line.resize(ppv2::encode_v1(line, *source, *destination));
  return line;
}

}  // namespace

std::variant<std::string, HeaderError> build_header(const HeaderWords& words) {
  if (words.local ? !words.source.empty() || !words.destination.empty()
                  : words.source.empty() || words.destination.empty())
    return HeaderError{"give both --source and --destination, or --local and neither"};
  if (words.v1) return build_v1(words);
  std::string header(kMostHeader, '\0');
  auto started = start(words, {reinterpret_cast<std::byte*>(header.data()), header.size()});
  if (auto* wrong = std::get_if<HeaderError>(&started)) return std::move(*wrong);
  auto& encoder = std::get<ppv2::Encoder>(started);
  if (!words.alpn.empty()) encoder.alpn(words.alpn);
  if (!words.authority.empty()) encoder.authority(words.authority);
  if (!words.unique_id.empty()) encoder.unique_id(words.unique_id);
  for (const std::string& text : words.tlvs) {
    std::string value;
    auto tlv = parse_tlv(text, value);
    if (auto* wrong = std::get_if<HeaderError>(&tlv)) return std::move(*wrong);
    encoder.tlv(std::get<ppv2::Tlv>(tlv).type, std::get<ppv2::Tlv>(tlv).value);
  }
  if (words.crc32c) encoder.crc32c();
  if (words.pad != 0) encoder.pad_to(words.pad);
  header.resize(encoder.finish());
  if (header.empty()) return HeaderError{"a field is longer than it may be, or the header than 65551 bytes"};
  return header;
}

}  // namespace ravelin::ppv2_tool
