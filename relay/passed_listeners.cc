#include "relay/passed_listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "sys/descriptor.h"

namespace ravelin::relay {
namespace {

constexpr int kMostPassed = 1024;

// The variable's number; the variable is gone, so that no child finds it.
std::optional<int> take_number(const char* variable) {
  const char* text = std::getenv(variable);
  const std::string_view digits = text == nullptr ? "" : text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  ::unsetenv(variable);
  return whole ? std::optional(number) : std::nullopt;
}

sys::Result<Inheritance::Listener> listener_of(sys::UniqueFd fd) {
  const int number = fd.get();
  const auto address = sys::SocketAddress::local_of(number);
  if (!address || sys::get_option<int>(number, SOL_SOCKET, SO_TYPE) != SOCK_STREAM) {
    return sys::fail(0, "descriptor {} was passed in and is no stream socket (systemd: ListenStream=)", number);
  }
  if (!address->is_ip()) {
    return sys::fail(0, "the Unix socket {} was passed in: the program opens those itself", number);
  }
  if (sys::get_option<int>(number, SOL_SOCKET, SO_ACCEPTCONN) != 1) {
    return sys::fail(0, "the socket {} was passed in and does not listen (systemd: Accept=no)", address->text());
  }
  // One for both families would be two listeners of the settings at once.
  if (address->family == AF_INET6 && address->is_wildcard() &&
      sys::get_option<int>(number, IPPROTO_IPV6, IPV6_V6ONLY) != 1) {
    return sys::fail(
        0,
        "the socket {} was passed in for both families: pass one for each (systemd: BindIPv6Only=ipv6-only, "
        "ListenStream=0.0.0.0:{} and ListenStream=[::]:{})",
        address->text(), address->port, address->port);
  }
  if (::fcntl(number, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(number, F_SETFL, O_NONBLOCK) != 0) {
    return sys::fail(errno, "cannot use the socket {} that was passed in", address->text());
  }
  return Inheritance::Listener{.key = listener_key(*address), .fd = std::move(fd)};
}

}  // namespace

sys::Result<std::vector<Inheritance::Listener>> take_passed_listeners(int first) {
  const auto pid = take_number("LISTEN_PID");
  const int count = take_number("LISTEN_FDS").value_or(0);
  ::unsetenv("LISTEN_FDNAMES");
  std::vector<Inheritance::Listener> listeners;
  if (pid != ::getpid() || count <= 0) return listeners;
  if (count > kMostPassed) return sys::fail(0, "LISTEN_FDS={} is more than {}", count, kMostPassed);
  for (int fd = first; fd < first + count; ++fd) {
    auto listener = listener_of(sys::UniqueFd(fd));
    if (!listener) return tl::unexpected(listener.error());
    listeners.push_back(std::move(*listener));
  }
  return listeners;
}

}  // namespace ravelin::relay
