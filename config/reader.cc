#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.h"
#include "config/report.h"

namespace ravelin::config {
namespace {

class Reader {
 public:
  Reader(const Tree& tree, Sources& sources, ConfigErrors& errors) : tree_(tree), sources_(sources), errors_(errors) {}

  void read_section(const Node& node, const Section& schema, void* object, const std::string& path) {
    if (node.kind == Node::Kind::refused) return refused();
    if (node.kind != Node::Kind::map && node.kind != Node::Kind::null) return mismatch(node, path, "a section of keys");
    const std::size_t before = problems_;
    refuse_unknown(node, schema, path);
    for (const Entry& entry : schema.entries()) {
      const std::string entry_path = join_path(path, entry.key);
      if (const Node* value = node.find(entry.key)) {
        read_entry(*value, entry, object, entry_path);
      } else if (entry.required) {
        missing(node, entry, path, entry_path);
      }
    }
    if (problems_ != before) return;  // a rule over wrong values would only find what has been said already
    Report report(tree_.file, node, path, errors_);
    const std::size_t found = errors_.size();
    schema.run_checks(object, report);
    problems_ += errors_.size() - found;
  }

 private:
  void add(ConfigError error) {
    errors_.push_back(std::move(error));
    ++problems_;
  }
  void refused() { ++problems_; }

  void mismatch(const Node& node, const std::string& path, std::string_view expected) {
    const std::string name = path.empty() ? "the file" : path;
    const auto what = node.kind == Node::Kind::null
                          ? fmt::format("{} has no value, expected {}", name, expected)
                          : fmt::format("{} is {}, expected {}", name, node.kind_name(), expected);
    add(error_at(node.place, tree_.file, "", what));
  }

  void missing(const Node& section, const Entry& entry, const std::string& path, const std::string& entry_path) {
    const auto flag = std::ranges::find_if(tree_.flags, [&](const Flag& candidate) {
      return candidate.path == entry_path || candidate.path.starts_with(entry_path + "[");
    });
    const std::string usage =
        flag == tree_.flags.end() ? "" : fmt::format("{} {}", flag->name, flag->entry->placeholder);
    if (tree_.file.empty() && section.place.flag.empty()) {
      add({.what = usage.empty()
                       ? fmt::format("'{}' is missing, expected it in a file given with --config FILE", entry_path)
                       : fmt::format("{} is missing, expected it or --config FILE", usage)});
      return;
    }
    const std::string where = path.empty() ? "" : path + " has ";
    add(error_at(section.place, tree_.file, "",
                 fmt::format("{}no '{}', expected {}{}", where, entry.key, entry.expected,
                             usage.empty() ? "" : ", or the flag " + usage)));
  }

  void refuse_unknown(const Node& node, const Section& schema, const std::string& path) {
    std::vector<std::string_view> names;
    for (const Entry& entry : schema.entries()) names.emplace_back(entry.key);
    for (const Member& member : node.members) {
      if (schema.find(member.key) != nullptr) continue;
      const auto meant = nearest(member.key, names);
      const std::string where = path.empty() ? "at the top level" : "in " + path;
      const std::string hint = meant.empty() ? fmt::format("expected one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean '{}'?", meant);
      const auto what = fmt::format("unknown key '{}' {}, {}", printable(member.key, 60), where, hint);
      add(error_at(member.place, tree_.file, "", what));
    }
  }

  void read_entry(const Node& node, const Entry& entry, void* object, const std::string& path) {
    if (node.kind == Node::Kind::refused) return refused();
    switch (entry.kind) {
      case Entry::Kind::value:
        return read_value(node, entry, object, path);
      case Entry::Kind::section:
        return read_section(node, *entry.inner, entry.place(object), path);
      case Entry::Kind::values:
        if (node.kind != Node::Kind::list) return mismatch(node, path, "a list, each element " + entry.expected);
        break;
      case Entry::Kind::sections:
        if (node.kind != Node::Kind::list) return mismatch(node, path, entry.expected);
        break;
    }
    entry.clear(object);
    if (entry.required && node.items.empty()) {
      return add(error_at(node.place, tree_.file, "", fmt::format("{} is empty, expected at least one element", path)));
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string element = join_path(path, i);
      if (entry.kind == Entry::Kind::values) {
        read_value(node.items[i], entry, object, element);
      } else {
        read_section(node.items[i], *entry.inner, entry.place(object), element);
      }
    }
  }

  void read_value(const Node& node, const Entry& entry, void* object, const std::string& path) {
    if (node.kind == Node::Kind::refused) return refused();
    if (node.kind != Node::Kind::scalar) return mismatch(node, path, entry.expected);
    if (const auto done = entry.read(object, node.text); !done) {
      return add(error_at(node.place, tree_.file, path, done.error().what));
    }
    sources_.insert_or_assign(path, node.place);
  }

  const Tree& tree_;
  Sources& sources_;
  ConfigErrors& errors_;
  std::size_t problems_ = 0;  // errors, and what was refused before
};

}  // namespace

void read_settings(const Tree& tree, const Section& schema, void* settings, Sources& sources, ConfigErrors& errors) {
  Reader(tree, sources, errors).read_section(tree.root, schema, settings, "");
}

}  // namespace ravelin::config
