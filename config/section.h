// A schema without its types: what the reader, the printer, the command line and the reference documents walk.
//
// One Section describes one struct of settings; `object` in its entries is a pointer to such a struct. Schemas are
// built once by Schema<T> (schema.h), which knows the types, and never change after.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.h"
#include "sys/result.h"

namespace ravelin::config {

class Section;
class Report;

struct Entry {
  enum class Kind { value, values, section, sections };

  std::string key;
  Kind kind = Kind::value;
  std::string help;
  std::string expected;     // "a duration such as 10s, 1ms to 1h"; of one element, for values
  std::string placeholder;  // "DURATION"
  std::string flag;         // "--listen", or empty
  bool required = false;
  bool is_switch = false;  // a bool: its flag needs no value

  // For value and values. `read` sets the value or appends one; nothing changes if the text is refused.
  std::function<sys::Result<void>(void* object, std::string_view text)> read;
  std::function<std::vector<std::string>(const void* object)> texts;  // none if an optional value is not set

  // For section and sections. `place` gives the section itself, or a new last element, to be read into.
  std::shared_ptr<const Section> inner;
  std::function<void*(void* object)> place;
  std::function<std::vector<const void*>(const void* object)> objects;

  std::function<void(void* object)> clear;  // for values and sections
};

class Section {
 public:
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view key) const;
  // A struct of the section's type as it is before anything is read.
  [[nodiscard]] const void* defaults() const { return defaults_.get(); }
  void run_checks(const void* object, Report& report) const;

  struct PathFlag {
    std::string flag;
    std::string path;  // "listeners[].address": see flags.h
  };
  [[nodiscard]] const std::vector<PathFlag>& path_flags() const { return path_flags_; }

 protected:
  explicit Section(std::shared_ptr<const void> defaults) : defaults_(std::move(defaults)) {}

  std::shared_ptr<const void> defaults_;
  std::vector<Entry> entries_;
  std::vector<PathFlag> path_flags_;
  std::vector<std::function<void(const void*, Report&)>> checks_;
};

}  // namespace ravelin::config
