// Section 2.2: the binary header. Nothing of it is used before the whole declared length is there; what is wrong with
// the fixed part is told as soon as its byte arrives.
#include <cstring>

#include "ppv2/crc32c.h"
#include "ppv2/decode.h"
#include "ppv2/tlv_check.h"
#include "ppv2/wire.h"

namespace ppv2 {
namespace {

inline unsigned at(Bytes bytes, std::size_t offset) noexcept {
  return static_cast<unsigned>(bytes[offset]);
}

void copy_addresses(const std::byte* block, unsigned family, Claim& claim) noexcept {
  switch (static_cast<Family>(family)) {
    case Family::inet:
      std::memcpy(claim.source.bytes.data(), block, 4);
      std::memcpy(claim.destination.bytes.data(), block + 4, 4);
      claim.source.port = load_be16(block + 8);
      claim.destination.port = load_be16(block + 10);
      break;
    case Family::inet6:
      std::memcpy(claim.source.bytes.data(), block, 16);
      std::memcpy(claim.destination.bytes.data(), block + 16, 16);
      claim.source.port = load_be16(block + 32);
      claim.destination.port = load_be16(block + 34);
      break;
    case Family::unix_domain:
      claim.unix_paths = block;
      break;
    case Family::unspec:
      return;
  }
  claim.source.family = claim.destination.family = static_cast<Family>(family);
}

// "The receiver must accept this connection as valid and must use the real connection endpoints and discard the
// protocol block": nothing behind a LOCAL can be wrong. Fields that load balancers put there (without an address block,
// whatever the family says) are shown if the block is a whole list of them and its checksum, if any, fits.
void read_local(const std::byte* header, std::size_t size, unsigned family, unsigned transport,
                const DecodeOptions& options, Decoded& decoded) noexcept {
  Claim& claim = decoded.claim;
  if (family <= 3 && transport <= 2) {
    claim.family = static_cast<Family>(family);
    claim.transport = static_cast<Transport>(transport);
  }
  const TlvCheck check = check_tlvs(header, kV2FixedSize, size);
  if (check.reason != Reason::none) return;
  if (check.crc_value != 0) {
    claim.crc = CrcState::unchecked;
    if (options.crc != Crc::ignore) {
      if (header_crc32c(header, size, check.crc_value) != load_be32(header + check.crc_value)) return;
      claim.crc = CrcState::verified;
    }
  }
  claim.tlvs = TlvView::over_valid({header + kV2FixedSize, size - kV2FixedSize});
}

bool read_proxy(const std::byte* header, std::size_t size, unsigned family, unsigned transport,
                const DecodeOptions& options, Decoded& decoded) noexcept {
  Claim& claim = decoded.claim;
  claim.command = Command::proxy;
  claim.family = static_cast<Family>(family);
  claim.transport = static_cast<Transport>(transport);
  // Without a family the block has no known layout, so it is skipped by its length.
  if (family == 0) return true;
  const std::size_t block = address_block_size(family);
  if (transport != 0) copy_addresses(header + kV2FixedSize, family, claim);
  const std::size_t begin = kV2FixedSize + block;
  if (begin == size) {
    if (options.crc == Crc::required) return reject(decoded, Reason::crc_missing, size), false;
    return true;
  }
  const TlvCheck check = check_tlvs(header, begin, size);
  if (check.reason != Reason::none) return reject(decoded, check.reason, check.offset), false;
  if (check.crc_value == 0) {
    if (options.crc == Crc::required) return reject(decoded, Reason::crc_missing, size), false;
  } else if (options.crc == Crc::ignore) {
    claim.crc = CrcState::unchecked;
  } else {
    // The specification does not name the byte order of the sum; every sender in the field uses the network's.
    if (header_crc32c(header, size, check.crc_value) != load_be32(header + check.crc_value))
      return reject(decoded, Reason::crc_mismatch, check.crc_value), false;
    claim.crc = CrcState::verified;
  }
  claim.tlvs = TlvView::over_valid({header + begin, size - begin});
  return true;
}

void read_header(Bytes bytes, const DecodeOptions& options, Decoded& decoded) noexcept {
  const std::size_t have = bytes.size();
  decoded.version = Version::v2;
  if (!options.v2) return reject(decoded, Reason::version_not_allowed, 0);
  if (have == 12) return need_more(decoded, have, kV2FixedSize);

  const unsigned command = at(bytes, 12) & 0x0F;
  if (at(bytes, 12) >> 4 != 2) return reject(decoded, Reason::bad_version, 12);
  if (command > 1) return reject(decoded, Reason::bad_command, 12);
  if (have == 13) return need_more(decoded, have, kV2FixedSize);

  const unsigned family = at(bytes, 13) >> 4;
  const unsigned transport = at(bytes, 13) & 0x0F;
  if (command != 0) {  // with LOCAL "the family is ignored"
    if (family > 3) return reject(decoded, Reason::bad_family, 13);
    if (transport > 2) return reject(decoded, Reason::bad_transport, 13);
  }
  if (have < kV2FixedSize) return need_more(decoded, have, kV2FixedSize);

  const std::size_t length = load_be16(bytes.data() + 14);
  const std::size_t size = kV2FixedSize + length;
  if (command != 0 && length < address_block_size(family)) return reject(decoded, Reason::address_truncated, 14);
  if (size > options.max_header) return reject(decoded, Reason::header_too_long, 14);
  if (have < size) return need_more(decoded, have, size);

  decoded.claim.version = Version::v2;
  if (command == 0) {
    read_local(bytes.data(), size, family, transport, options, decoded);
  } else if (!read_proxy(bytes.data(), size, family, transport, options, decoded)) {
    decoded.claim = {};
    return;
  }
  decoded.outcome = Outcome::header;
  decoded.header_length = static_cast<std::uint32_t>(size);
  if (have > size) decoded.kind = classify(bytes.subspan(size));
}

}  // namespace

Decoded decode_v2(Bytes bytes, const DecodeOptions& options) noexcept {
  Decoded decoded;
  read_header(bytes, options, decoded);
  return decoded;
}

}  // namespace ppv2
