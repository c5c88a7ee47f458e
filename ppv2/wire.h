// The constants of proxy-protocol.txt sections 2.1 and 2.2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ppv2/bytes.h"

namespace ppv2 {

inline constexpr unsigned char kV2Signature[12] = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D,
                                                   0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
inline constexpr char kV1Signature[] = "PROXY";
inline constexpr std::size_t kV1SignatureSize = 5;
// Section 4: eight bytes make a v1 line certain, twelve a v2 header.
inline constexpr std::size_t kV1Certain = 8;
inline constexpr std::size_t kV2Certain = sizeof kV2Signature;

inline constexpr std::size_t kIpv4BlockSize = 12;
inline constexpr std::size_t kIpv6BlockSize = 36;
inline constexpr std::size_t kUnixBlockSize = 216;

inline bool has_v2_signature(const void* at) noexcept {
  return load<std::uint64_t>(at) == load<std::uint64_t>(kV2Signature) &&
         load<std::uint32_t>(static_cast<const unsigned char*>(at) + 8) == load<std::uint32_t>(kV2Signature + 8);
}

inline constexpr std::size_t address_block_size(unsigned family) noexcept {
  constexpr std::size_t kSizes[] = {0, kIpv4BlockSize, kIpv6BlockSize, kUnixBlockSize};
  return kSizes[family & 3];
}

}  // namespace ppv2
