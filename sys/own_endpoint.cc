#include "sys/own_endpoint.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

namespace ravelin::sys {
namespace {

bool is_unspecified(const SocketAddress& address) {
  return std::ranges::all_of(address.ip(), [](std::uint8_t byte) { return byte == 0; });
}

SocketAddress loopback(std::uint16_t family, std::uint16_t port) {
  if (family == AF_INET) return SocketAddress::ipv4({127, 0, 0, 1}, port);
  return SocketAddress::ipv6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, port);
}

// RFC 6761 section 6.3: localhost is loopback, whoever is asked.
std::vector<SocketAddress> known_addresses(const Endpoint& endpoint) {
  if (const auto literal = endpoint.literal()) return {*literal};
  if (endpoint.host != "localhost") return {};
  return {loopback(AF_INET, endpoint.port), loopback(AF_INET6, endpoint.port)};
}

bool is_of_this_machine(const SocketAddress& address) {
  if (address.is_loopback()) return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != address.family) continue;
    const socklen_t length = address.family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (std::ranges::equal(SocketAddress::from(entry->ifa_addr, length).ip(), address.ip())) return true;
  }
  return false;
}

bool leads_to(SocketAddress target, const SocketAddress& listener) {
  if (target.family != listener.family || target.port != listener.port) return false;
  // Linux takes a connection to the unspecified address to loopback.
  if (is_unspecified(target)) target = loopback(target.family, target.port);
  if (is_unspecified(listener)) return is_of_this_machine(target);
  return std::ranges::equal(target.ip(), listener.ip());
}

bool same_path(const std::string& one, const std::string& other) {
  if (one == other) return true;
  if (one.starts_with('@') || other.starts_with('@')) return false;
  return std::filesystem::path(one).lexically_normal() == std::filesystem::path(other).lexically_normal();
}

}  // namespace

bool leads_to(const Endpoint& target, const Endpoint& listener) {
  if (target.is_unix() || listener.is_unix()) {
    return target.is_unix() && listener.is_unix() && same_path(target.path, listener.path);
  }
  if (target.port != listener.port || target.port == 0) return false;
  const auto targets = known_addresses(target);
  const auto listeners = listener.host.empty() ? std::vector{SocketAddress::ipv4({}, listener.port),
                                                             SocketAddress::ipv6({}, listener.port)}
                                               : known_addresses(listener);
  return std::ranges::any_of(targets, [&](const SocketAddress& from) {
    return std::ranges::any_of(listeners, [&](const SocketAddress& to) { return leads_to(from, to); });
  });
}

}  // namespace ravelin::sys
