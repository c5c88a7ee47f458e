// A YAML file as a tree that remembers where each thing stands. The only place that knows yaml-cpp.
//
// Of YAML only what a config needs is let in: one document, keys that are text, no anchors, aliases, merge keys or
// tags. A file may be anything (a device, a bomb, garbage): size, depth and number of values are limited, nothing is
// thrown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/error.h"

namespace ravelin::config {

inline constexpr std::size_t kMostFileBytes = 1 << 20;
inline constexpr std::size_t kMostValueBytes = 4096;
inline constexpr std::size_t kMostValues = 100'000;
inline constexpr std::size_t kMostDepth = 32;

struct Member;

struct Node {
  enum class Kind { null, scalar, list, map, refused };  // refused: an error has been reported already

  Kind kind = Kind::null;
  Place place;
  std::string text;             // of a scalar, without quotes
  std::vector<Node> items;      // of a list
  std::vector<Member> members;  // of a map, each key once

  [[nodiscard]] const Node* find(std::string_view key) const;
  // The value of `key`, a null one at `where` if it was not there. The node becomes a map.
  Node& member(std::string_view key, const Place& where);
  [[nodiscard]] std::string_view kind_name() const;  // "a list"
};

struct Member {
  std::string key;
  Place place;
  Node value;
};

[[nodiscard]] tl::expected<std::string, ConfigError> read_file(const std::string& file);

// The tree of `text`, a null node if the text holds nothing. Every error found goes to `errors`; nothing is returned if
// what stands there cannot be told, else the rest of the tree can still be checked.
[[nodiscard]] std::optional<Node> parse_yaml(std::string_view text, const std::string& file, ConfigErrors& errors);

}  // namespace ravelin::config
