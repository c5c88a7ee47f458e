// What a decoder said about some bytes, for programs and for people. Pure functions; `bytes` are those decoded.
#pragma once

#include <ppv2/decoder.h>

#include <string>
#include <string_view>

namespace ravelin::ppv2_tool {

// One object in one line. Always `outcome`. For a header: `version` (1 or 2), `command`, `family`, `transport`,
// `source` and `destination` ({address, port}; null where the header claims nothing; a Unix path has port null),
// `header_length`, `tlvs` ([{type, name, hex}] in the order sent) and `kind` of what follows. Else `reason`, the
// decoder's word for it or `incomplete` and `no_signature`, and `offset`, the byte at fault or the count of bytes seen;
// `kind` too if the stream carries something else than a header.
[[nodiscard]] std::string json_report(std::string_view bytes, const ppv2::Decoded& decoded);

// Lines with the header's fields, or what is wrong with it and a dump that marks the byte.
[[nodiscard]] std::string text_report(std::string_view bytes, const ppv2::Decoded& decoded);

// The first byte at which the stream differs from both signatures.
[[nodiscard]] std::size_t where_no_header(std::string_view bytes);

}  // namespace ravelin::ppv2_tool
