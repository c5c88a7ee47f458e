#include "gateway/door.h"

#include <algorithm>
#include <array>

namespace ravelin::gateway {
namespace {

using relay::Opening;
using relay::Reason;
using Verdict = Opening::Verdict;

Reason reason_of(ppv2::Reason fault) {
  switch (fault) {
    case ppv2::Reason::header_required:
      return Reason::header_missing;
    case ppv2::Reason::header_forbidden:
    case ppv2::Reason::source_not_trusted:
      return Reason::header_refused;
    default:
      return Reason::header_invalid;
  }
}

constexpr std::array<std::string_view, 3> kWithoutTrust{
    "no edge is trusted: connections with a header are refused",
    "no edge is trusted: headers are taken off and their claims marked as not trusted",
    "no edge is trusted: headers are passed on as if they were payload"};

constexpr Opening kEndQuietly{.verdict = Verdict::close, .reason = Reason::silent};

}  // namespace

bool Door::trusts(const sys::SocketAddress& peer) const {
  return std::ranges::any_of(trusted_edges, [&](const sys::Cidr& range) { return range.contains(peer); });
}

Opening Door::open(GatewaySession& kept, const sys::SocketAddress& peer, std::span<const std::byte> bytes,
                   ppv2::Moment moment) const {
  const bool trusted = trusts(peer);
  kept.trusted_source = trusted ? 1 : 0;
  const ppv2::Decoded decoded = ppv2::decode(bytes);
  const ppv2::Verdict verdict = ppv2::decide(rules, trusted, decoded, moment);
  if (bytes.empty()) {
    // Who left, or was asked to speak first and did not, said nothing of value, whatever the rules are.
    const bool goes_on = verdict.action == ppv2::Action::pass && !wait_for_client && moment == ppv2::Moment::timeout;
    return goes_on ? Opening{.verdict = Verdict::proceed} : kEndQuietly;
  }
  switch (verdict.action) {
    case ppv2::Action::wait:
      return {};
    case ppv2::Action::pass:
      kept.payload = 1;
      return {.verdict = Verdict::proceed};
    case ppv2::Action::reject:
      kept.fault = verdict.reason;
      kept.fault_offset = decoded.offset;
      kept.version = decoded.version;
      return {.verdict = Verdict::refuse, .reason = reason_of(verdict.reason)};
    case ppv2::Action::accept:
      remember(kept, decoded.claim, verdict.trusted);
      if (bytes.size() > decoded.header_length) kept.payload = 1;
      if (kept.payload != 0 || !wait_for_client) return {.verdict = Verdict::proceed, .skip = decoded.header_length};
      return moment == ppv2::Moment::bytes ? Opening{} : kEndQuietly;
  }
  return {};
}

void log_untrusted_doors(const std::vector<Door>& doors, sys::Log& log) {
  for (const Door& door : doors) {
    if (door.rules.policy != ppv2::Policy::sniff || !door.trusted_edges.empty()) continue;
    log.line(sys::LogLevel::warning, "no_trusted_edges")
        .field("listener", door.name)
        .field("effect", kWithoutTrust.at(static_cast<std::size_t>(door.rules.untrusted)));
  }
}

}  // namespace ravelin::gateway
