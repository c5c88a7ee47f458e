// What the gateway counts beside the engine, in the same blocks of the shared table.
#pragma once

#include <ppv2/decoder.h>

#include <cstdint>

#include "relay/counters.h"

namespace ravelin::gateway {

// What a client's first bytes turned out to be.
enum class Opened : std::uint8_t {
  header,   // a whole header, taken off
  none,     // no header: every byte goes on
  refused,  // ended for what the header is, or for its absence
  kCount
};

enum Counter : unsigned {
  kOpened = relay::kPolicyCounters,  // one for each outcome × version × trusted source, see opened()
  kRefusals = kOpened + 3 * 3 * 2,   // one for each ppv2::Reason
  kTrustedWithoutHeader = kRefusals + ppv2::kReasonCount,
  kSilent,         // no byte came
  kHeaderOnly,     // a header and nothing behind it
  kLocal,          // the sender spoke for itself, as health checks do
  kLinesHeldBack,  // lines of refused and failed sessions beyond their budget
  kLastCounter
};
static_assert(static_cast<unsigned>(kLastCounter) <= relay::kLimitReached);

[[nodiscard]] constexpr unsigned opened(Opened outcome, ppv2::Version version, bool trusted_source) {
  return kOpened + (static_cast<unsigned>(outcome) * 3 + static_cast<unsigned>(version)) * 2 +
         (trusted_source ? 1U : 0U);
}
[[nodiscard]] constexpr unsigned refusal(ppv2::Reason reason) {
  return kRefusals + static_cast<unsigned>(reason);
}

}  // namespace ravelin::gateway
