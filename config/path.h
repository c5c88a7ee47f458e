// The way to a setting, as text: "limits.sessions", "listeners[0].address"; flags also say "listeners[].address" for a
// new element and "listeners[*].address" for each one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::config {

struct Step {
  enum class Which { self, nth, append, every };
  std::string key;
  Which which = Which::self;
  std::size_t index = 0;  // for nth
};

// Paths are the program's own words: one that is not well-formed gives the steps up to there.
[[nodiscard]] std::vector<Step> parse_path(std::string_view path);

// "limits", "sessions" -> "limits.sessions"
[[nodiscard]] std::string join_path(std::string_view section, std::string_view key);
// "listeners", 0 -> "listeners[0]"
[[nodiscard]] std::string join_path(std::string_view list, std::size_t index);

}  // namespace ravelin::config
