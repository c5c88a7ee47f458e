// The header that the gateway writes for a server which reads the PROXY protocol itself. A pure function, any thread.
#pragma once

#include <gateway/gateway.h>

#include <cstddef>
#include <span>

#include "relay/policy.h"

namespace ravelin::gateway {

// The header names the effective address: the measured one unless the claim is trusted. Returns its size;
// relay::kMaxHeader is always enough.
[[nodiscard]] std::size_t write_inner_header(InnerHeader form, relay::SessionView session, std::span<std::byte> out);

}  // namespace ravelin::gateway
