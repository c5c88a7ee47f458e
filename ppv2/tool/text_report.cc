#include <algorithm>
#include <cstdio>
#include <iterator>

#include "ppv2/tool/escape.h"
#include "ppv2/tool/report.h"

namespace ravelin::ppv2_tool {
namespace {

constexpr std::size_t kPerLine = 16;
constexpr std::size_t kMostValue = 48;  // bytes of a field in a line; --json shows all of them

constexpr std::string_view kKindWords[] = {"nothing yet", "a TLS ClientHello", "HTTP/1", "HTTP/2 without TLS",
                                           "something else"};
constexpr std::string_view kCrcWords[] = {"none", "verified", "not checked"};

template <class... Values>
void print(std::string& out, const char* format, Values... values) {
  char line[256];
  const int length = std::snprintf(line, sizeof line, format, values...);
  out.append(line, std::min<std::size_t>(static_cast<std::size_t>(std::max(length, 0)), sizeof line - 1));
}

void field(std::string& out, std::string_view title, std::string_view value) {
  print(out, "  %-13.*s ", static_cast<int>(title.size()), title.data());
  out.append(value).push_back('\n');
}

std::string shown(const ppv2::Tlv& tlv) {
  const bool text = !tlv.value.empty() && is_printable(tlv.text());
  const bool whole = tlv.value.size() <= kMostValue;
  const ppv2::Bytes part = tlv.value.first(std::min(tlv.value.size(), kMostValue));
  const std::string value = text ? '"' + std::string(tlv.text().substr(0, part.size())) + '"' : hex(part);
  return value + (whole ? "" : " ...");
}

void add_tlvs(std::string& out, const ppv2::TlvView& tlvs, int indent) {
  for (const ppv2::Tlv tlv : tlvs) {
    const std::string_view title = ppv2::tlv_name(tlv.type);
    print(out, "%*s0x%02X %-14.*s %5zu bytes  ", indent, "", tlv.type, static_cast<int>(title.size()), title.data(),
          tlv.value.size());
    out += shown(tlv) + "\n";
    if (tlv.type != ppv2::kSsl) continue;
    const ppv2::Bytes alone{tlv.value.data() - ppv2::kTlvHeaderSize, tlv.value.size() + ppv2::kTlvHeaderSize};
    const auto ssl = ppv2::TlvView::over_valid(alone).ssl();
    if (!ssl) continue;
    print(out, "%*sclient 0x%02x, verify %u: %s, %s\n", indent + 2, "", ssl->client, ssl->verify,
          ssl->is_tls() ? "TLS" : "no TLS", ssl->verified() ? "certificate verified" : "no verified certificate");
    add_tlvs(out, ssl->fields, indent + 2);
  }
}

std::string end_of(const ppv2::Claim& claim, const ppv2::Address& address, ppv2::Bytes path) {
  char text[ppv2::kAddressTextSize];
  if (claim.unix_paths == nullptr) return std::string(address.text(text));
  const std::string path_text = unix_path_text(path);
  return path_text.empty() ? "unix, without a name" : "unix:" + path_text;
}

std::string header_report(const ppv2::Decoded& decoded) {
  const ppv2::Claim& claim = decoded.claim;
  std::string out;
  print(out, "PROXY protocol v%d header, %u bytes: %s %s %s\n", static_cast<int>(claim.version), decoded.header_length,
        name(claim.command).data(), name(claim.family).data(), name(claim.transport).data());
  if (claim.has_addresses() || claim.unix_paths != nullptr) {
    field(out, "source", end_of(claim, claim.source, claim.source_path()));
    field(out, "destination", end_of(claim, claim.destination, claim.destination_path()));
  } else {
    field(out, "addresses", "none: those of the connection itself count");
  }
  if (claim.version == ppv2::Version::v2) field(out, "checksum", kCrcWords[static_cast<std::size_t>(claim.crc)]);
  add_tlvs(out, claim.tlvs, 2);
  field(out, "followed by", kKindWords[static_cast<std::size_t>(decoded.kind)]);
  return out;
}

void dump_line(std::string& out, std::string_view bytes, std::size_t from) {
  print(out, "  %04zx ", from);
  for (std::size_t i = from; i < from + kPerLine; ++i) {
    if (i < bytes.size()) {
      print(out, " %02x", static_cast<unsigned char>(bytes[i]));
    } else {
      out += "   ";
    }
  }
  out += "  |";
  for (const char c : bytes.substr(from, kPerLine)) out.push_back(is_printable({&c, 1}) ? c : '.');
  out += "|\n";
}

// The line of the byte, one before and one behind it, and a caret; a byte that is missing is marked where it would be.
std::string dump(std::string_view bytes, std::size_t marked) {
  std::string out;
  const std::size_t line = marked / kPerLine * kPerLine;
  const std::size_t first = line >= kPerLine ? line - kPerLine : 0;
  for (std::size_t from = first; from <= line + kPerLine; from += kPerLine) {
    if (from < bytes.size() || from == line) dump_line(out, bytes, from);
    if (from == line) print(out, "  %*s^^\n", static_cast<int>(6 + (marked - line) * 3), "");
  }
  return out;
}

}  // namespace

std::size_t where_no_header(std::string_view bytes) {
  constexpr std::string_view kV1("PROXY "), kV2("\r\n\r\n\0\r\nQUIT\n", 12);
  const auto common = [bytes](std::string_view signature) {
    const auto [at, _] = std::mismatch(bytes.begin(), bytes.end(), signature.begin(), signature.end());
    return static_cast<std::size_t>(at - bytes.begin());
  };
  return std::max(common(kV1), common(kV2));
}

std::string text_report(std::string_view bytes, const ppv2::Decoded& decoded) {
  std::string out;
  switch (decoded.outcome) {
    case ppv2::Outcome::header:
      return header_report(decoded);
    case ppv2::Outcome::need_more:
      print(out, "the header is not whole: %u bytes seen, %u at least are needed\n", decoded.offset, decoded.wanted);
      return out + dump(bytes, decoded.offset);
    case ppv2::Outcome::not_proxy:
      print(out, "no PROXY protocol header: byte %zu begins neither version; it looks like %s\n",
            where_no_header(bytes), kKindWords[static_cast<std::size_t>(decoded.kind)].data());
      return out + dump(bytes, where_no_header(bytes));
    case ppv2::Outcome::reject:
      print(out, "not a valid header: %s (%s), byte %u\n", text(decoded.reason).data(), name(decoded.reason).data(),
            decoded.offset);
      return out + dump(bytes, decoded.offset);
  }
  return out;
}

}  // namespace ravelin::ppv2_tool
