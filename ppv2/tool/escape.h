// Bytes that came from a header, as text that is safe on a terminal and in a log. Pure functions.
#pragma once

#include <ppv2/tlv.h>

#include <string>
#include <string_view>

namespace ravelin::ppv2_tool {

// Two lower-case digits a byte.
[[nodiscard]] std::string hex(ppv2::Bytes bytes);

// Printable ASCII as it is, everything else and the backslash as \xNN.
[[nodiscard]] std::string escaped(std::string_view text);

[[nodiscard]] bool is_printable(std::string_view text);

// "/run/app.sock", "@abstract", or nothing for an unnamed socket: one of the 108-byte paths of a header.
[[nodiscard]] std::string unix_path_text(ppv2::Bytes path);

inline ppv2::Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace ravelin::ppv2_tool
