// From a tree to settings, with every error in it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/document.h"
#include "config/flags.h"
#include "config/section.h"

namespace ravelin::config {

// Where the value at each path comes from; what is not there has its default. Lists of values count each element.
using Sources = std::map<std::string, Place, std::less<>>;

struct Tree {
  Node root;
  std::string file;         // empty if there is no file
  std::vector<Flag> flags;  // to say which flag would give what is missing
};

// Reads `tree` into `settings`, a struct of the schema's type with its defaults in place. Settings are of use only if
// nothing was added to `errors`.
void read_settings(const Tree& tree, const Section& schema, void* settings, Sources& sources, ConfigErrors& errors);

}  // namespace ravelin::config
