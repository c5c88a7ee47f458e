// Crossing the C ABI: structs that the caller sized, enums that must be the same on both sides.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "ppv2/decoder.h"
#include "ppv2/ppv2.h"

namespace ppv2 {

// A struct of the caller's in our size: what the caller's header did not have yet keeps the value it has in `defaults`.
template <typename T>
[[nodiscard]] T take_struct(const T* from, const T& defaults = T{}) noexcept {
  T value = defaults;
  if (from != nullptr) std::memcpy(&value, from, std::min(from->struct_size, sizeof value));
  return value;
}

// And back: no byte behind what the caller has room for.
template <typename T>
void give_struct(const T& value, T* to) noexcept {
  if (to == nullptr) return;
  const std::size_t size = to->struct_size;
  if (size < sizeof size) return;
  const std::size_t count = std::min(size, sizeof value);
  std::memcpy(reinterpret_cast<char*>(to) + sizeof size, reinterpret_cast<const char*>(&value) + sizeof size,
              count - sizeof size);
}

static_assert(sizeof(ppv2_address) == sizeof(Address) && offsetof(ppv2_address, port) == offsetof(Address, port) &&
              offsetof(ppv2_address, bytes) == offsetof(Address, bytes));

inline Address to_cpp(const ppv2_address& address) noexcept {
  return std::bit_cast<Address>(address);
}
inline ppv2_address to_c(const Address& address) noexcept {
  return std::bit_cast<ppv2_address>(address);
}

[[nodiscard]] DecodeOptions to_cpp(const ppv2_options* options) noexcept;
[[nodiscard]] ppv2_decoded to_c(const Decoded& decoded) noexcept;

inline Bytes to_bytes(const void* bytes, std::size_t size) noexcept {
  return {static_cast<const std::byte*>(bytes), size};
}

}  // namespace ppv2
