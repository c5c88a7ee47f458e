#include "config/flags.h"

#include <algorithm>
#include <span>

namespace ravelin::config {
namespace {

void collect(const Section& section, const std::string& prefix, std::vector<Flag>& flags) {
  for (const Entry& entry : section.entries()) {
    const std::string path = join_path(prefix, entry.key);
    if (entry.kind == Entry::Kind::section) {
      collect(*entry.inner, path, flags);
    } else if (entry.kind == Entry::Kind::sections) {
      std::string outer = path;
      for (auto at = outer.find("[]"); at != outer.npos; at = outer.find("[]")) outer.replace(at, 2, "[0]");
      collect(*entry.inner, outer + "[]", flags);
    } else if (!entry.flag.empty()) {
      flags.push_back({.name = entry.flag, .path = path, .steps = parse_path(path), .entry = &entry});
    }
  }
}

const Entry* entry_at(const Section& root, const std::vector<Step>& steps) {
  const Section* section = &root;
  const Entry* entry = nullptr;
  for (const Step& step : steps) {
    entry = section == nullptr ? nullptr : section->find(step.key);
    if (entry == nullptr) return nullptr;
    section = entry->inner.get();
  }
  return entry != nullptr && entry->inner == nullptr ? entry : nullptr;
}

// A list in the tree, or nullptr if something else stands there; the reader will say so.
Node* as_list(Node& node) {
  if (node.kind == Node::Kind::null) node.kind = Node::Kind::list;
  return node.kind == Node::Kind::list ? &node : nullptr;
}

void apply(Node& section, const Entry& entry, std::span<const Step> steps, const Node& value) {
  if (section.kind != Node::Kind::map && section.kind != Node::Kind::null) return;
  const Step& step = steps.front();
  Node& found = section.member(step.key, value.place);
  if (steps.size() == 1) {
    if (entry.kind == Entry::Kind::value) {
      found = value;
    } else if (Node* list = as_list(found)) {
      list->items.push_back(value);
    }
    return;
  }
  if (step.which == Step::Which::self) return apply(found, entry, steps.subspan(1), value);
  Node* list = as_list(found);
  if (list == nullptr) return;
  if (step.which == Step::Which::every) {
    for (Node& element : list->items) apply(element, entry, steps.subspan(1), value);
    return;
  }
  const std::size_t index = step.which == Step::Which::append ? list->items.size() : step.index;
  while (list->items.size() <= index) list->items.push_back({.kind = Node::Kind::map, .place = value.place});
  apply(list->items[index], entry, steps.subspan(1), value);
}

bool reaches_every(const Flag& flag) {
  return std::ranges::any_of(flag.steps, [](const Step& step) { return step.which == Step::Which::every; });
}

}  // namespace

bool Flag::is_repeatable() const {
  const auto appends = [](const Step& step) { return step.which == Step::Which::append; };
  return entry->kind == Entry::Kind::values || std::ranges::any_of(steps, appends);
}

std::vector<Flag> flags_of(const Section& root) {
  std::vector<Flag> flags;
  collect(root, "", flags);
  for (const auto& [name, path] : root.path_flags()) {
    const auto steps = parse_path(path);
    if (const Entry* entry = entry_at(root, steps)) flags.push_back({name, path, steps, entry});
  }
  return flags;
}

void overlay(Node& root, const std::vector<Flag>& flags, const std::vector<FlagValue>& values) {
  for (const bool every : {false, true}) {
    for (const FlagValue& given : values) {
      const auto flag = std::ranges::find(flags, given.flag, &Flag::name);
      if (flag == flags.end() || reaches_every(*flag) != every) continue;
      const Node value{.kind = Node::Kind::scalar, .place = {.flag = given.flag}, .text = given.text};
      apply(root, *flag->entry, flag->steps, value);
    }
  }
}

}  // namespace ravelin::config
