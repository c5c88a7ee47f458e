// "did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ravelin::config {

// The name that `wrong` was most likely meant to be; empty if none is near. Near is a few letters away, or sharing a
// word or the beginning of one: listen_addr and address.
[[nodiscard]] std::string_view nearest(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace ravelin::config
