// Headers as edges send them, for tests.
#pragma once

#include <ppv2/encoder.h>
#include <ppv2/ravelin.h>

#include <string>
#include <string_view>
#include <vector>

#include "bridge/addresses.h"
#include "sys/address.h"

namespace ravelin::gateway::test {

using bridge::from_ppv2;
using bridge::to_ppv2;

using Octets = std::vector<std::byte>;

inline constexpr std::string_view kEdgeSession = "0190a1b2c3d4e5f60718293a4b5c6d7e";
inline constexpr std::string_view kHello = "\x16\x03\x01\x02";

inline sys::SocketAddress at(std::string_view text) {
  return sys::SocketAddress::parse(text).value();
}

inline Octets octets(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

inline Octets operator+(Octets a, const Octets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What a redirector writes for a client at `source`.
inline Octets edge_header(std::string_view source = "203.0.113.9:51234", std::string_view edge = "fra-1") {
  Octets out(4096);
  out.resize(ppv2::Encoder::proxy(out, to_ppv2(at(source)), to_ppv2(at("192.0.2.80:443")))
                 .unique_id(kEdgeSession)
                 .tlv(ppv2::kEdgeNameTlv, edge)
                 .crc32c()
                 .finish());
  return out;
}

inline Octets local_header() {
  Octets out(4096);
  out.resize(ppv2::Encoder::local(out).unique_id("check").crc32c().finish());
  return out;
}

// What a redirector writes for a client without an address.
inline Octets addressless_header() {
  Octets out(4096);
  out.resize(ppv2::Encoder::local(out).unique_id(kEdgeSession).tlv(ppv2::kEdgeNameTlv, "fra-1").finish());
  return out;
}

inline Octets v1_header() {
  return octets("PROXY TCP4 203.0.113.9 192.0.2.80 51234 443\r\n");
}

}  // namespace ravelin::gateway::test
