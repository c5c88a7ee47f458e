// The PROXY protocol vectors of tests/vectors/ppv2, and bytes in the form that finds overreads.
#pragma once

#include <ppv2/decoder.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ppv2_test {

using nlohmann::json;

// A heap buffer of exactly this size, so that a sanitizer sees the first byte read behind it.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : size_(bytes.size()), data_(std::make_unique<std::byte[]>(bytes.size())) {
    if (size_ != 0) std::memcpy(data_.get(), bytes.data(), size_);
  }
  operator ppv2::Bytes() const { return {data_.get(), size_}; }  // NOLINT: a view of it

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

inline std::string hex(ppv2::Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : bytes) {
    out.push_back(kDigits[static_cast<unsigned>(byte) >> 4]);
    out.push_back(kDigits[static_cast<unsigned>(byte) & 15]);
  }
  return out;
}

struct Vector {
  std::string name;
  std::string bytes;
  json expected;
  std::string after_eof;  // derived need-more vectors
};

inline std::vector<Vector> load_vectors() {
  std::vector<Vector> vectors;
  for (const char* const file : {"captured.json", "derived.json"}) {
    std::ifstream in(std::string(PPV2_VECTORS) + "/" + file);
    const json index = json::parse(in);
    for (const json& v : index.at("vectors"))
      vectors.push_back(
          {v.at("name"), from_hex(v.at("hex").get<std::string>()), v.at("expected"), v.value("after_eof", "")});
  }
  return vectors;
}

inline ppv2::Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline bool expects_header(const Vector& vector) {
  return vector.expected.at("outcome").get<std::string>().starts_with("proxy-");
}

}  // namespace ppv2_test
