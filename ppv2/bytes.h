// Loads and stores of the wire's big-endian numbers, at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ppv2 {

static_assert(std::endian::native == std::endian::little, "only little-endian machines are built for");

template <typename T>
inline T load(const void* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline std::uint16_t load_be16(const void* at) noexcept {
  return __builtin_bswap16(load<std::uint16_t>(at));
}
inline std::uint32_t load_be32(const void* at) noexcept {
  return __builtin_bswap32(load<std::uint32_t>(at));
}
inline std::uint64_t load_be64(const void* at) noexcept {
  return __builtin_bswap64(load<std::uint64_t>(at));
}

inline void store_be16(void* at, std::uint16_t value) noexcept {
  value = __builtin_bswap16(value);
  std::memcpy(at, &value, sizeof value);
}
inline void store_be32(void* at, std::uint32_t value) noexcept {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace ppv2
