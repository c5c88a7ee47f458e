#include "gateway/inner_hop.h"

#include "bridge/addresses.h"

namespace ravelin::gateway {

using bridge::to_ppv2;

InnerHop::InnerHop(const sys::Endpoint& inner, const std::vector<sys::SocketAddress>& sources, ppv2::PeerMap& peers)
    : peers_(peers) {
  if (inner.is_unix()) {
    // Paths that are too long have been refused when the endpoint was parsed.
    target_.length = sys::unix_address(inner.path, target_.address).value_or(0);
    // Binding to the bare family has the kernel choose an abstract name (unix(7), autobind).
    sources_.push_back(ppv2::Address{.family = ppv2::Family::unix_domain});
    return;
  }
  target_.length = inner.literal().value_or(sys::SocketAddress{}).to(target_.address);
  for (const auto& source : sources) sources_.push_back(to_ppv2(source));
}

sys::Result<ppv2::PeerMap::Guard> InnerHop::bind(int fd, const ppv2::Peer& peer) {
  int error = EADDRNOTAVAIL;
  for (std::size_t tries = 0; tries < sources_.size(); ++tries) {
    auto guard = peers_.bind_and_put(fd, sources_[current_], peer);
    if (guard) return guard;
    error = guard.error();
    if (error != EADDRINUSE && error != EADDRNOTAVAIL) break;
    current_ = (current_ + 1) % sources_.size();
  }
  return sys::fail(error, "cannot bind the inner connection");
}

}  // namespace ravelin::gateway
