#include "ppv2/crc32c.h"

#include <array>

#include "ppv2/bytes.h"
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace ppv2 {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

consteval Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[slice][byte] = (tables[slice - 1][byte] >> 8) ^ tables[0][tables[slice - 1][byte] & 0xFF];
  return tables;
}
constexpr Tables kTables = make_tables();

constexpr std::byte kZeros[4] = {};

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t extend_sse42(std::uint32_t crc, const std::byte* data,
                                                             std::size_t size) noexcept {
  std::uint64_t wide = crc;
  for (; size >= 8; data += 8, size -= 8) wide = _mm_crc32_u64(wide, load<std::uint64_t>(data));
  crc = static_cast<std::uint32_t>(wide);
  if ((size & 4) != 0) {
    crc = _mm_crc32_u32(crc, load<std::uint32_t>(data));
    data += 4;
  }
  if ((size & 2) != 0) {
    crc = _mm_crc32_u16(crc, load<std::uint16_t>(data));
    data += 2;
  }
  return (size & 1) != 0 ? _mm_crc32_u8(crc, static_cast<std::uint8_t>(*data)) : crc;
}
#elif defined(__ARM_FEATURE_CRC32)
std::uint32_t extend_arm(std::uint32_t crc, const std::byte* data, std::size_t size) noexcept {
  for (; size >= 8; data += 8, size -= 8) crc = __crc32cd(crc, load<std::uint64_t>(data));
  for (; size != 0; ++data, --size) crc = __crc32cb(crc, static_cast<std::uint8_t>(*data));
  return crc;
}
#endif

}  // namespace

// Slicing by eight: eight independent table reads for eight bytes.
std::uint32_t extend_crc32c_software(std::uint32_t crc, const std::byte* data, std::size_t size) noexcept {
  for (; size >= 8; data += 8, size -= 8) {
    const std::uint64_t word = load<std::uint64_t>(data) ^ crc;
    crc = 0;
    for (unsigned slice = 0; slice < 8; ++slice) crc ^= kTables[7 - slice][(word >> (8 * slice)) & 0xFF];
  }
  for (; size != 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint8_t>(*data)) & 0xFF];
  return crc;
}

std::uint32_t extend_crc32c(std::uint32_t crc, const std::byte* data, std::size_t size) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return extend_sse42(crc, data, size);
#elif defined(__ARM_FEATURE_CRC32)
  return extend_arm(crc, data, size);
#endif
  return extend_crc32c_software(crc, data, size);
}

std::uint32_t header_crc32c(const std::byte* header, std::size_t size, std::size_t value_offset) noexcept {
  std::uint32_t crc = extend_crc32c(0xFFFFFFFF, header, value_offset);
  crc = extend_crc32c(crc, kZeros, sizeof kZeros);
  crc = extend_crc32c(crc, header + value_offset + sizeof kZeros, size - value_offset - sizeof kZeros);
  return ~crc;
}

}  // namespace ppv2
