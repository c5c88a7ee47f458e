// The PROXY protocol vectors of tests/vectors/ppv2, and bytes in the form that finds overreads.
#pragma once

#include <ppv2/decoder.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppv2_test {

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

std::string from_hex(std::string_view hex);
std::string hex(ppv2::Bytes bytes);

inline ppv2::Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// What a vector expects of one end.
struct End {
  std::string ip;         // empty for a Unix end
  std::string hex;        // its bytes, where the index gives them
  std::string v4_mapped;  // the IPv4 spelling, where there is one
  std::string path;       // up to the first NUL
  int port = 0;
};

struct Field {
  int type = 0;
  std::string name;
  std::string value;  // hex
  bool is_ssl = false;
  int client = 0;
  unsigned verify = 0;
  bool verified = false;
  std::vector<Field> fields;
};

struct Vector {
  std::string name;
  std::string bytes;
  std::string outcome;    // proxy-v1, proxy-v2, reject, need-more, other, tls-client-hello
  std::string after_eof;  // of need-more: other, reject
  std::string payload;    // what follows: an outcome, or empty for nothing
  std::size_t decisive = 0;
  std::size_t header_length = 0;
  int version = 0;
  std::string command, family, transport;
  std::optional<End> source, destination;
  std::optional<std::vector<int>> types;
  std::optional<std::vector<Field>> fields;

  [[nodiscard]] bool is_header() const { return version != 0; }
  [[nodiscard]] bool is_passed_on() const { return outcome == "other" || outcome == "tls-client-hello"; }
};

std::vector<Vector> load_vectors();

}  // namespace ppv2_test
