#include "tests/unit/ppv2/vectors.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ppv2_test {
namespace {

using nlohmann::json;

std::optional<End> end_of(const json& expected, const char* key) {
  const json end = expected.value(key, json());
  if (end.is_null()) return std::nullopt;
  return End{end.value("ip", ""), end.value("hex", ""), end.value("v4_mapped", ""), end.value("path", ""),
             end.value("port", 0)};
}

std::vector<Field> fields_of(const json& list) {
  std::vector<Field> fields;
  for (const json& tlv : list) {
    Field field{tlv.at("type"), tlv.at("name"), tlv.at("value_hex")};
    if (tlv.contains("ssl")) {
      const json& ssl = tlv.at("ssl");
      field.is_ssl = true;
      field.client = ssl.at("client");
      field.verify = ssl.at("verify");
      field.verified = ssl.at("verified");
      field.fields = fields_of(ssl.at("sub"));
    }
    fields.push_back(field);
  }
  return fields;
}

Vector vector_of(const json& v) {
  const json& expected = v.at("expected");
  Vector vector;
  vector.name = v.at("name");
  vector.bytes = from_hex(v.at("hex").get<std::string>());
  vector.outcome = expected.at("outcome");
  vector.after_eof = v.value("after_eof", "");
  vector.decisive = expected.contains("decisive_bytes") ? expected.at("decisive_bytes").get<std::size_t>() : 0;
  if (!vector.outcome.starts_with("proxy-")) return vector;
  const json payload = expected.value("payload_outcome", json());
  vector.payload = payload.is_null() ? "" : payload.get<std::string>();
  vector.header_length = expected.at("header_length");
  vector.version = expected.at("version");
  vector.command = expected.at("command");
  vector.family = expected.at("family");
  vector.transport = expected.at("transport");
  vector.source = end_of(expected, "src");
  vector.destination = end_of(expected, "dst");
  if (expected.contains("tlv_types")) vector.types = expected.at("tlv_types").get<std::vector<int>>();
  if (expected.contains("tlvs")) vector.fields = fields_of(expected.at("tlvs"));
  return vector;
}

}  // namespace

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

std::string hex(ppv2::Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out.push_back(kDigits[static_cast<unsigned>(byte) >> 4]);
    out.push_back(kDigits[static_cast<unsigned>(byte) & 15]);
  }
  return out;
}

std::vector<Vector> load_vectors() {
  std::vector<Vector> vectors;
  for (const char* const file : {"captured.json", "derived.json"}) {
    std::ifstream in(std::string(PPV2_VECTORS) + "/" + file);
    const json index = json::parse(in);
    for (const json& v : index.at("vectors")) vectors.push_back(vector_of(v));
  }
  return vectors;
}

}  // namespace ppv2_test
