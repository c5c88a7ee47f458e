#include <nlohmann/json.hpp>

#include "ppv2/tool/escape.h"
#include "ppv2/tool/report.h"

namespace ravelin::ppv2_tool {
namespace {

using Json = nlohmann::ordered_json;

Json end_of(const ppv2::Claim& claim, const ppv2::Address& address, ppv2::Bytes path) {
  if (claim.unix_paths != nullptr) return {{"address", unix_path_text(path)}, {"port", nullptr}};
  if (!address.is_ip()) return nullptr;
  char text[ppv2::kAddressTextSize];
  return {{"address", address.host(text)}, {"port", address.port}};
}

Json tlvs_of(const ppv2::Claim& claim) {
  Json tlvs = Json::array();
  for (const ppv2::Tlv tlv : claim.tlvs)
    tlvs.push_back({{"type", tlv.type}, {"name", ppv2::tlv_name(tlv.type)}, {"hex", hex(tlv.value)}});
  return tlvs;
}

void add_header(Json& report, const ppv2::Decoded& decoded) {
  const ppv2::Claim& claim = decoded.claim;
  report["version"] = static_cast<int>(claim.version);
  report["command"] = name(claim.command);
  report["family"] = name(claim.family);
  report["transport"] = name(claim.transport);
  report["source"] = end_of(claim, claim.source, claim.source_path());
  report["destination"] = end_of(claim, claim.destination, claim.destination_path());
  report["header_length"] = decoded.header_length;
  report["tlvs"] = tlvs_of(claim);
  report["kind"] = name(decoded.kind);
}

}  // namespace

std::string json_report(std::string_view bytes, const ppv2::Decoded& decoded) {
  Json report{{"outcome", name(decoded.outcome)}};
  switch (decoded.outcome) {
    case ppv2::Outcome::header:
      add_header(report, decoded);
      break;
    case ppv2::Outcome::need_more:
      report["reason"] = "incomplete";
      report["offset"] = decoded.offset;
      break;
    case ppv2::Outcome::not_proxy:
      report["reason"] = "no_signature";
      report["offset"] = where_no_header(bytes);
      report["kind"] = name(decoded.kind);
      break;
    case ppv2::Outcome::reject:
      report["reason"] = name(decoded.reason);
      report["offset"] = decoded.offset;
      break;
  }
  return report.dump() + "\n";
}

}  // namespace ravelin::ppv2_tool
