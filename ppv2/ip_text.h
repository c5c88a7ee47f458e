// Strict reading of the numbers of a v1 line (section 2.1), of a growing text: at the end of the bytes the answer is
// `more`, so that a first byte at fault is found as soon as it arrives and never earlier.
#pragma once

#include <array>
#include <cstdint>

namespace ppv2 {

enum class Read : std::uint8_t { ok, more, bad };

// Each reads at `at`, never past `end`, and leaves `at` behind what was read, or on the byte at fault.
// `ok` needs one byte behind the number, which is left for the caller to judge.
[[nodiscard]] Read read_ipv4(const char*& at, const char* end, std::uint8_t out[4]) noexcept;
[[nodiscard]] Read read_ipv6(const char*& at, const char* end, std::uint8_t out[16]) noexcept;
[[nodiscard]] Read read_port(const char*& at, const char* end, std::uint16_t& port) noexcept;

}  // namespace ppv2
