// CRC-32C (Castagnoli, RFC 4960 appendix B), in hardware where the processor has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ppv2 {

// Of a whole v2 header with the four bytes at `value_offset` taken as zero, as both ends have to compute it.
[[nodiscard]] std::uint32_t header_crc32c(const std::byte* header, std::size_t size, std::size_t value_offset) noexcept;

// One step, without the inversions at both ends; `software` is what runs where there is no hardware.
[[nodiscard]] std::uint32_t extend_crc32c(std::uint32_t crc, const std::byte* data, std::size_t size) noexcept;
[[nodiscard]] std::uint32_t extend_crc32c_software(std::uint32_t crc, const std::byte* data, std::size_t size) noexcept;

}  // namespace ppv2
