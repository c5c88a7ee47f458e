#include "ppv2/crc32c.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "tests/unit/ppv2/vectors.h"

using ppv2_test::bytes_of;

TEST_CASE("the checksum is CRC-32C") {
  // The check value of the Castagnoli polynomial, and RFC 3720 appendix B.4's 32 zeros.
  CHECK(~ppv2::extend_crc32c(0xFFFFFFFF, bytes_of("123456789").data(), 9) == 0xE3069283);
  CHECK(~ppv2::extend_crc32c(0xFFFFFFFF, bytes_of(std::string(32, '\0')).data(), 32) == 0x8A9136AA);
}

TEST_CASE("hardware and tables agree at every length and alignment") {
  std::string text(300, '\0');
  std::mt19937 random(7);
  for (char& c : text) c = static_cast<char>(random());
  for (std::size_t start = 0; start < 9; ++start)
    for (std::size_t size = 0; size + start <= text.size(); ++size) {
      const ppv2_test::Exact exact(std::string_view(text).substr(start, size));
      const ppv2::Bytes bytes = exact;
      REQUIRE(ppv2::extend_crc32c(1, bytes.data(), size) == ppv2::extend_crc32c_software(1, bytes.data(), size));
    }
}
