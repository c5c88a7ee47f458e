// The three PEM files that both gRPC peers are given, in this order: certificate, key, authority.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace ravelin::peers {

inline std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;

  explicit TlsFiles(char** paths)
      : certificate(contents(paths[0])), key(contents(paths[1])), authority(contents(paths[2])) {}
};

}  // namespace ravelin::peers
