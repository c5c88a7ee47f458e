#include "redirector/source_ports.h"

#include <algorithm>

#include "sys/source_address.h"

namespace ravelin::redirector {

std::optional<std::uint64_t> source_ports(const PoolView& view, const Candidate& candidate, std::uint32_t ports) {
  const auto family = candidate.socket_address.ss_family;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  const auto own = static_cast<std::uint64_t>(std::ranges::count(view.sources, family, &sys::SocketAddress::family));
  return std::max<std::uint64_t>(own, 1) * ports;
}

void warn_of_few_source_ports(sys::Log& log, const std::vector<Pool>& pools, std::uint64_t sessions) {
  const std::uint32_t ports = sys::local_port_count();
  for (const Pool& pool : pools) {
    const PoolView& view = *pool.view();
    std::uint64_t possible = 0;
    bool is_known = !view.candidates.empty();
    for (const auto& candidate : view.candidates) {
      const auto here = source_ports(view, *candidate, ports);
      is_known = is_known && here;
      possible += here.value_or(0);
    }
    if (!is_known || possible >= sessions) continue;
    log.line(sys::LogLevel::warning, "source_ports_few")
        .field("pool", pool.name())
        .field("sessions_possible", possible)
        .field("max_sessions", sessions)
        .field("hint", "give the pool source_addresses, or widen net.ipv4.ip_local_port_range");
  }
}

}  // namespace ravelin::redirector
