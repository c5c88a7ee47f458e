// Settings as text: the YAML they could have come from, and how two of them differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/reader.h"
#include "config/section.h"

namespace ravelin::config {

// All settings as YAML that reads back as the same settings, each with where it comes from in a comment behind it:
//   limits:
//     sessions: 5000   # edge.yaml:7
//     idle: 0          # default
//     # low_water: not set
[[nodiscard]] std::string print_settings(const Section& schema, const void* settings, const Sources& sources,
                                         const std::string& file);

// One setting that differs; not set where it is missing or has no value.
struct Change {
  std::string path;
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool operator==(const Change&) const = default;
};

// In the schema's order, what is gone last. Elements of lists are told by their number.
[[nodiscard]] std::vector<Change> diff_settings(const Section& schema, const void* before, const void* after);

// Text as a YAML scalar that is read back as it was, quoted where YAML or a reader could take it for something else.
[[nodiscard]] std::string yaml_scalar(const std::string& text);

}  // namespace ravelin::config
