// What a gateway is told beside the engine's part, whether it is a daemon or a part of another program. Plain values.
#pragma once

#include <gateway/gateway.h>
#include <ppv2/policy.h>

#include <string>
#include <vector>

#include "gateway/gateway_policy.h"
#include "relay/settings.h"
#include "sys/address.h"
#include "sys/source_address.h"

namespace ravelin::gateway {

// What is said of the client's bytes in relay::ListenerOptions is here said of those behind the header: see
// engine_listener().
struct ListenerSettings : relay::ListenerOptions {
  ppv2::Policy policy = ppv2::Policy::sniff;
  std::vector<sys::Cidr> trusted_edges;
  ppv2::Untrusted untrusted = ppv2::Untrusted::mark;
  sys::Duration silence{std::chrono::seconds(3)};  // a retransmission's time, as proxy-protocol.txt section 2 asks for
};

struct FrontSettings {
  std::vector<ListenerSettings> listeners;
  sys::Endpoint inner;
  std::vector<sys::SourceAddress> inner_sources;  // empty: the host of the inner address
  InnerHeader inner_header = InnerHeader::none;
};

// Settings that are each right in themselves and do not fit together.
struct Misfit {
  std::string setting;  // "listeners[0].trusted_edges"
  std::string what;     // what is wrong, and what was expected
};
[[nodiscard]] std::vector<Misfit> misfits_of(const FrontSettings& settings);

// What the policies of all loops go by.
[[nodiscard]] GatewayFacts facts_of(const FrontSettings& settings);

// The listeners as the engine takes them, and the room for the policy's part of each session.
void add_to_engine(relay::EngineSettings& engine, const FrontSettings& settings);

}  // namespace ravelin::gateway
