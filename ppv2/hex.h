// Hexadecimal digits, as the kernel and gRPC write them in names.
#pragma once

namespace ppv2 {

// The value of a lower-case hexadecimal digit; 16 for anything else.
inline unsigned lower_hex_digit(unsigned c) noexcept {
  return c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
}

}  // namespace ppv2
