// Addresses between the two libraries that know them. An IPv6 zone is lost on the way to ppv2, where no header has one.
#pragma once

#include <ppv2/address.h>

#include "sys/address.h"

namespace ravelin::gateway {

[[nodiscard]] inline ppv2::Address to_ppv2(const sys::SocketAddress& address) {
  sockaddr_storage storage{};
  const socklen_t length = address.to(storage);
  return ppv2::Address::from(reinterpret_cast<const sockaddr*>(&storage), length);
}

// A mapped address (::ffff:a.b.c.d) comes back as IPv4, as measured ones do.
[[nodiscard]] inline sys::SocketAddress from_ppv2(const ppv2::Address& address) {
  sockaddr_storage storage{};
  const socklen_t length = address.to(storage);
  return length == 0 ? sys::SocketAddress{}
                     : sys::SocketAddress::from(reinterpret_cast<const sockaddr*>(&storage), length);
}

}  // namespace ravelin::gateway
