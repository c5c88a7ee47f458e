// A header from the words of a command line. Pure functions.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace ravelin::ppv2_tool {

struct HeaderWords {
  bool v1 = false;
  bool local = false;
  std::string source, destination;  // "192.0.2.1:443", "[2001:db8::1]:443", "unix:/run/app.sock", "unix:@name"
  std::string alpn, authority, unique_id;
  std::vector<std::string> tlvs;  // "0xE0=68656c6c6f"
  bool crc32c = false;
  unsigned pad = 0;  // the header's size becomes a multiple of it
};

struct HeaderError {
  std::string what;
};

// The fields stand in the order of HeaderWords.
[[nodiscard]] std::variant<std::string, HeaderError> build_header(const HeaderWords& words);

}  // namespace ravelin::ppv2_tool
