// Writes a header and reads it back, through every C++ header. Prints the address that came back.
#include <ppv2/address.h>
#include <ppv2/counters.h>
#include <ppv2/decoder.h>
#include <ppv2/encoder.h>
#include <ppv2/peer_map.h>
#include <ppv2/policy.h>
#include <ppv2/sniffer.h>
#include <ppv2/tlv.h>

#include <array>
#include <iostream>

int main() {
  const auto source = ppv2::Address::parse("192.0.2.1:4000");
  const auto destination = ppv2::Address::parse("198.51.100.1:443");
  if (!source || !destination) return 1;
  std::array<std::byte, 64> header{};
  const std::size_t size = ppv2::Encoder::proxy(header, *source, *destination).crc32c().finish();
  ppv2::Sniffer sniffer({.policy = ppv2::Policy::require}, true);
  if (sniffer.feed({header.data(), size}).action != ppv2::Action::accept) return 1;
  ppv2::Counters counters;
  counters.count(sniffer.verdict(), sniffer.version(), true);
  ppv2::PeerMap map;
  ppv2::Peer peer;
  peer.claimed_source = sniffer.claim()->source;
  peer.claim_trusted = sniffer.claim_trusted();
  const auto guard = map.put(*destination, peer);
  std::array<char, ppv2::kAddressTextSize> text{};
  std::cout << map.find(*destination)->effective().text(text) << '\n';
}
