// Flags that stand for settings, and how they are laid over the tree of a file before it is read. So a flag's value
// takes the same way as one from the file, and a program without a file is one with an empty tree.
//
// A flag names a path of the schema's root:
//   limits.sessions         sets it; of a list of values, appends one
//   listeners[].address     appends a section to the list
//   pools[0].address        of that element, made if there is none
//   listeners[*].policy     of every element there is, after all the other flags
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/path.h"
#include "config/section.h"

namespace ravelin::config {

struct Flag {
  std::string name;  // "--listen"
  std::string path;
  std::vector<Step> steps;
  const Entry* entry;  // what it sets

  [[nodiscard]] bool is_repeatable() const;
};

struct FlagValue {
  std::string flag;
  std::string text;
};

// Every flag of a schema's root, in its order. Option::flag within lists means: a new element of the innermost list,
// and the first one of the lists around it. The schema must outlive the result.
[[nodiscard]] std::vector<Flag> flags_of(const Section& root);

void overlay(Node& root, const std::vector<Flag>& flags, const std::vector<FlagValue>& values);

}  // namespace ravelin::config
