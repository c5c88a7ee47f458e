// What a listener makes of a client's first bytes: its rules, asked with what was measured of the client. Never changed
// after the start; any thread.
#pragma once

#include <ppv2/policy.h>

#include <span>
#include <string>
#include <vector>

#include "gateway/session.h"
#include "relay/policy.h"
#include "sys/address.h"
#include "sys/log.h"

namespace ravelin::gateway {

struct Door {
  std::string name;  // as logged
  ppv2::Rules rules;
  std::vector<sys::Cidr> trusted_edges;
  bool wait_for_client = true;  // for payload, and not only for the header

  [[nodiscard]] bool trusts(const sys::SocketAddress& peer) const;

  // Decides on the bytes so far, and keeps in `kept` what they say. Without a byte and with `moment` other than bytes,
  // a client that waits for the server to speak is let through where the door does not wait for payload; the others end
  // without a word.
  [[nodiscard]] relay::Opening open(GatewaySession& kept, const sys::SocketAddress& peer,
                                    std::span<const std::byte> bytes, ppv2::Moment moment) const;
};

// A line for each door that sniffs and trusts nobody: what its headers then come to.
void log_untrusted_doors(const std::vector<Door>& doors, sys::Log& log);

}  // namespace ravelin::gateway
