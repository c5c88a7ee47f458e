// The halves of decode(), each for a stream whose signature has been seen.
#pragma once

#include "ppv2/decoder.h"

namespace ppv2 {

// `bytes` begin with "PROXY".
[[nodiscard]] Decoded decode_v1(Bytes bytes, const DecodeOptions& options) noexcept;
// `bytes` hold at least 12 bytes, the signature.
[[nodiscard]] Decoded decode_v2(Bytes bytes, const DecodeOptions& options) noexcept;

inline void reject(Decoded& decoded, Reason reason, std::size_t offset) noexcept {
  decoded.outcome = Outcome::reject;
  decoded.reason = reason;
  decoded.offset = static_cast<std::uint32_t>(offset);
}

inline void need_more(Decoded& decoded, std::size_t seen, std::size_t wanted) noexcept {
  decoded.outcome = Outcome::need_more;
  decoded.offset = static_cast<std::uint32_t>(seen);
  decoded.wanted = static_cast<std::uint32_t>(wanted);
}

}  // namespace ppv2
