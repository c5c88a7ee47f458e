// The one pass that makes a TLV block safe to iterate.
#pragma once

#include "ppv2/decoder.h"

namespace ppv2 {

struct TlvCheck {
  Reason reason = Reason::none;
  std::uint32_t offset = 0;     // from the start of the header: the field at fault
  std::uint32_t crc_value = 0;  // from the start of the header: the checksum's four bytes; 0 without one
};

// Checks the fields in header[begin, end): bounds, sub-fields of SSL, the limits of UNIQUE_ID and CRC32C. Linear.
[[nodiscard]] TlvCheck check_tlvs(const std::byte* header, std::size_t begin, std::size_t end) noexcept;

}  // namespace ppv2
