#include "tests/bench/load/proxy_header.h"

#include <doctest/doctest.h>

#include <string>

using namespace ravelin::bench;
using namespace std::string_literals;

namespace {

const std::string kV2 = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\x12\x34\0\x50"s;
const std::string kV1 = "PROXY TCP4 127.0.0.1 127.0.0.1 4660 80\r\n";

}  // namespace

TEST_CASE("a header of either version is taken off whole, wherever the reads cut it") {
  for (const std::string& header : {kV2, kV1}) {
    for (std::size_t cut = 0; cut < header.size(); ++cut) {
      CHECK(read_proxy_header(header.substr(0, cut)).state == HeaderState::need_more);
    }
    const ProxyHeader whole = read_proxy_header(header + "payload");
    CHECK(whole.state == HeaderState::complete);
    CHECK(whole.length == header.size());
    CHECK(whole.source_port == 0x1234);
  }
}

TEST_CASE("TLVs behind the addresses belong to the header") {
  std::string header = kV2;
  header[15] = 12 + 5;
  header += "\x05\0\x02id"s;
  CHECK(read_proxy_header(header + "payload").length == header.size());
}

TEST_CASE("a connection without a header begins with its first byte") {
  const ProxyHeader none = read_proxy_header("RVLB");
  CHECK(none.state == HeaderState::complete);
  CHECK(none.kind == HeaderKind::none);
  CHECK(none.length == 0);
}

TEST_CASE("a broken header is wrong and not payload") {
  std::string version = kV2;
  version[12] = 0x31;
  CHECK(read_proxy_header(version).state == HeaderState::wrong);
  CHECK(read_proxy_header("PROXY " + std::string(200, 'x')).state == HeaderState::wrong);
}
