// The description of every setting, for people: made from the schema, so that it cannot be wrong about it.
#pragma once

#include <string>

#include "config/command_line.h"
#include "config/section.h"

namespace ravelin::config {

[[nodiscard]] std::string reference_markdown(const Section& schema, const Program& program);
// A manual page of section 5, for man(1).
[[nodiscard]] std::string reference_man(const Section& schema, const Program& program);

}  // namespace ravelin::config
