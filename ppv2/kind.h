// What classify() is made of. A ClientHello is what nearly every stream without a header begins with, so the look at it
// is inline where such streams are let go.
#pragma once

#include "ppv2/decoder.h"

namespace ppv2 {

inline constexpr std::byte kTlsHandshake{0x16};

// Of bytes that begin with kTlsHandshake. RFC 8446 section 5.1: a record of major version 3, a length of 4..2^14+2048,
// and a ClientHello in it.
inline Kind kind_of_handshake(Bytes bytes) noexcept {
  const auto* const at = reinterpret_cast<const unsigned char*>(bytes.data());
  const std::size_t size = bytes.size();
  if (size > 1 && at[1] != 3) return Kind::other;
  if (size > 2 && at[2] > 4) return Kind::other;
  if (size > 4) {
    const unsigned length = static_cast<unsigned>(at[3]) << 8 | at[4];
    if (length < 4 || length > (1U << 14) + 2048) return Kind::other;
  }
  return size < 6 || at[5] == 1 ? Kind::tls : Kind::other;
}

}  // namespace ppv2
