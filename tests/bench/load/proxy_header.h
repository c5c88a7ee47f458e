// Takes a PROXY protocol header (haproxy's proxy-protocol.txt, version 1 or 2) off the front of a connection. Written
// for the benchmark alone, apart from libppv2, so that it judges what the edge sends with other eyes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ravelin::bench {

enum class HeaderKind { none, v1, v2 };
enum class HeaderState { complete, need_more, wrong };

struct ProxyHeader {
  HeaderState state = HeaderState::need_more;
  HeaderKind kind = HeaderKind::none;
  std::size_t length = 0;         // bytes to take off
  std::uint16_t source_port = 0;  // 0 when the header names none
};

[[nodiscard]] ProxyHeader read_proxy_header(std::string_view bytes);

}  // namespace ravelin::bench
