// Text from outside on its way into formats that are UTF-8 by definition.
#pragma once

#include <string>
#include <string_view>

namespace ravelin::admin {

// The text with U+FFFD in place of every byte that is no part of a well-formed sequence (Unicode 15, table 3-7).
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace ravelin::admin
