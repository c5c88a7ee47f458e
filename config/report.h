// Where a schema's own rules put their findings.
#pragma once

#include <string>
#include <string_view>

#include "config/document.h"
#include "config/error.h"

namespace ravelin::config {

class Report {
 public:
  Report(const std::string& file, const Node& node, std::string_view path, ConfigErrors& errors)
      : file_(file), node_(node), path_(path), errors_(errors) {}

  // An error of the setting at `path`, counted from the section that the rule belongs to ("low", "origins[2].address",
  // or "" for the section itself). It is reported where the value stands, or the section if the setting was left out.
  void at(std::string_view path, std::string_view what);

 private:
  const std::string& file_;
  const Node& node_;
  std::string_view path_;
  ConfigErrors& errors_;
};

// An error about `where` as it is shown: a flag's name takes the place of file and line.
[[nodiscard]] ConfigError error_at(const Place& where, const std::string& file, std::string_view path,
                                   std::string_view what);

}  // namespace ravelin::config
