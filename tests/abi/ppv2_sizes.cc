// Prints the layout that programs built against libppv2 rely on, for comparison with the list that is checked in.
#include <ppv2/cidr.h>
#include <ppv2/counters.h>
#include <ppv2/encoder.h>
#include <ppv2/peer_map.h>
#include <ppv2/ppv2.h>
#include <ppv2/sniffer.h>

#include <cstddef>
#include <cstdio>

#define SIZE(type) std::printf("size %s %zu\n", #type, sizeof(type))
#define OFFSET(type, member) std::printf("offset %s.%s %zu\n", #type, #member, offsetof(type, member))

int main() {
  SIZE(ppv2_address);
  SIZE(ppv2_tlv);
  SIZE(ppv2_cidr);
  SIZE(ppv2_ssl);
  SIZE(ppv2_options);
  SIZE(ppv2_decoded);
  SIZE(ppv2_step);
  SIZE(ppv2_peer);
  SIZE(ppv2_guard);
  OFFSET(ppv2_options, crc);
  OFFSET(ppv2_decoded, header_length);
  OFFSET(ppv2_decoded, source);
  OFFSET(ppv2_decoded, tlvs_size);
  OFFSET(ppv2_ssl, verified);
  OFFSET(ppv2_step, offset);
  OFFSET(ppv2_peer, accepted_at);
  OFFSET(ppv2_peer, edge);
  SIZE(ppv2::Address);
  SIZE(ppv2::Cidr);
  SIZE(ppv2::Claim);
  SIZE(ppv2::Counters);
  SIZE(ppv2::DecodeOptions);
  SIZE(ppv2::Decoded);
  SIZE(ppv2::Encoder);
  SIZE(ppv2::Peer);
  SIZE(ppv2::PeerMap);
  SIZE(ppv2::PeerMap::Guard);
  SIZE(ppv2::Rules);
  SIZE(ppv2::Sniffer);
  SIZE(ppv2::SslFields);
  SIZE(ppv2::Step);
  SIZE(ppv2::TlvView);
  SIZE(ppv2::Verdict);
}
