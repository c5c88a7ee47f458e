// Addresses between the two libraries that know them: libppv2 depends on libc alone and sys/ knows no protocol, so what
// both programs need of the two together stands here. Pure functions, any thread.
#pragma once

#include <ppv2/address.h>

#include "sys/address.h"

namespace ravelin::bridge {

// An IPv6 zone is lost on the way: no header has one.
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

}  // namespace ravelin::bridge
