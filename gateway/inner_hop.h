// The way from the gateway to the server behind it: where it goes, and from which local address, because that address
// is all that the server sees and so the key under which it finds the real peer.
//
// One object a loop, used on that loop's thread; the peer map is everybody's.
#pragma once

#include <ppv2/peer_map.h>

#include <vector>

#include "relay/policy.h"
#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::gateway {

class InnerHop {
 public:
  // `inner` is a literal address or a Unix path. An explicit bind takes a port for every destination, so one source
  // address carries as many sessions as net.ipv4.ip_local_port_range has ports, 28,232 by default.
  InnerHop(const sys::Endpoint& inner, const std::vector<sys::SocketAddress>& sources, ppv2::PeerMap& peers);

  [[nodiscard]] const relay::Target& target() const { return target_; }

  // Binds `fd` and enters `peer` under the address it got. Before connect(2): the server may accept, and ask, as soon
  // as that begins. When a source address has no port left the next one is tried; the error is that of the last.
  [[nodiscard]] sys::Result<ppv2::PeerMap::Guard> bind(int fd, const ppv2::Peer& peer);

 private:
  ppv2::PeerMap& peers_;
  relay::Target target_;
  std::vector<ppv2::Address> sources_;
  std::size_t current_ = 0;  // the source that had a port last: a full one costs the kernel a search of all its ports
};

}  // namespace ravelin::gateway
