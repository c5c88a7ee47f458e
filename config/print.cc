#include "config/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace ravelin::config {
namespace {

constexpr std::size_t kCommentColumn = 48;  // comments line up, but not further right than this

struct Line {
  std::string text;
  std::string source;    // empty: no comment behind it
  bool is_value = true;  // false for a line that is a comment as a whole
};

class Printer {
 public:
  Printer(const Sources& sources, const std::string& file) : sources_(sources), file_(file) {}

  void section(const Section& schema, const void* object, const std::string& path, std::size_t indent) {
    const std::string margin(indent, ' ');
    for (const Entry& entry : schema.entries()) {
      const std::string entry_path = join_path(path, entry.key);
      const std::string key = margin + entry.key + ":";
      switch (entry.kind) {
        case Entry::Kind::value:
          value(entry, object, entry_path, margin);
          break;
        case Entry::Kind::values:
          values(key, entry.texts(object), entry_path, margin);
          break;
        case Entry::Kind::section:
          inner_section(key, entry, object, entry_path, indent);
          break;
        case Entry::Kind::sections:
          sections(key, entry, object, entry_path, indent);
          break;
      }
    }
  }

  [[nodiscard]] std::string text() const {
    std::size_t column = 0;
    for (const Line& line : lines_) {
      if (!line.source.empty() && line.text.size() < kCommentColumn) column = std::max(column, line.text.size());
    }
    std::string result;
    for (const Line& line : lines_) {
      result += line.source.empty() ? line.text + "\n" : fmt::format("{:<{}}  # {}\n", line.text, column, line.source);
    }
    return result;
  }

 private:
  void value(const Entry& entry, const void* object, const std::string& path, const std::string& margin) {
    const auto texts = entry.texts(object);
    if (texts.empty()) {
      lines_.push_back({fmt::format("{}# {}: not set", margin, entry.key), "", false});
    } else {
      lines_.push_back({fmt::format("{}{}: {}", margin, entry.key, yaml_scalar(texts.front())), source(path)});
    }
  }

  void values(const std::string& key, const std::vector<std::string>& texts, const std::string& path,
              const std::string& margin) {
    if (texts.empty()) return lines_.push_back({key + " []", source(path)});
    lines_.push_back({key, ""});
    for (std::size_t i = 0; i < texts.size(); ++i) {
      lines_.push_back({fmt::format("{}  - {}", margin, yaml_scalar(texts[i])), source(join_path(path, i))});
    }
  }

  void inner_section(const std::string& key, const Entry& entry, const void* object, const std::string& path,
                     std::size_t indent) {
    const auto objects = entry.objects(object);
    if (objects.empty()) {
      lines_.push_back({fmt::format("{}# {}: not set", std::string(indent, ' '), entry.key), "", false});
      return;
    }
    lines_.push_back({key, ""});
    const std::size_t start = lines_.size();
    section(*entry.inner, objects.front(), path, indent + 2);
    if (first_value(start) == lines_.size()) lines_[start - 1].text += " {}";
  }

  void sections(const std::string& key, const Entry& entry, const void* object, const std::string& path,
                std::size_t indent) {
    const auto objects = entry.objects(object);
    if (objects.empty()) return lines_.push_back({key + " []", source(path)});
    lines_.push_back({key, ""});
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const std::size_t start = lines_.size();
      section(*entry.inner, objects[i], join_path(path, i), indent + 4);
      const std::size_t first = first_value(start);
      if (first == lines_.size()) {
        lines_.push_back({std::string(indent + 2, ' ') + "- {}", ""});
      } else {
        lines_[first].text[indent + 2] = '-';
      }
    }
  }

  [[nodiscard]] std::size_t first_value(std::size_t start) const {
    while (start < lines_.size() && !lines_[start].is_value) ++start;
    return start;
  }

  [[nodiscard]] std::string source(const std::string& path) const {
    const auto found = sources_.find(path);
    if (found == sources_.end()) return "default";
    const Place& place = found->second;
    return place.flag.empty() ? fmt::format("{}:{}", printable(file_), place.line) : place.flag;
  }

  const Sources& sources_;
  const std::string& file_;
  std::vector<Line> lines_;
};

using Flat = std::vector<std::pair<std::string, std::string>>;

void flatten(const Section& schema, const void* object, const std::string& path, Flat& flat) {
  for (const Entry& entry : schema.entries()) {
    const std::string entry_path = join_path(path, entry.key);
    const bool is_list = entry.kind == Entry::Kind::values || entry.kind == Entry::Kind::sections;
    const auto element = [&](std::size_t i) { return is_list ? join_path(entry_path, i) : entry_path; };
    if (entry.inner == nullptr) {
      const auto texts = entry.texts(object);
      for (std::size_t i = 0; i < texts.size(); ++i) flat.emplace_back(element(i), texts[i]);
    } else {
      const auto objects = entry.objects(object);
      for (std::size_t i = 0; i < objects.size(); ++i) flatten(*entry.inner, objects[i], element(i), flat);
    }
  }
}

}  // namespace

std::string print_settings(const Section& schema, const void* settings, const Sources& sources,
                           const std::string& file) {
  Printer printer(sources, file);
  printer.section(schema, settings, "", 0);
  return printer.text();
}

std::vector<Change> diff_settings(const Section& schema, const void* before, const void* after) {
  Flat old_values;
  Flat new_values;
  flatten(schema, before, "", old_values);
  flatten(schema, after, "", new_values);
  std::unordered_map<std::string, std::string> gone(old_values.begin(), old_values.end());
  std::vector<Change> changes;
  for (const auto& [path, value] : new_values) {
    const auto found = gone.find(path);
    if (found == gone.end()) {
      changes.push_back({path, std::nullopt, value});
    } else {
      if (found->second != value) changes.push_back({path, found->second, value});
      gone.erase(found);
    }
  }
  for (const auto& [path, value] : old_values) {
    if (gone.contains(path)) changes.push_back({path, value, std::nullopt});
  }
  return changes;
}

std::string yaml_scalar(const std::string& text) {
  // What YAML reads as a null or, in other readers than ours, as a boolean of another spelling.
  constexpr std::array<std::string_view, 16> kWords{"null", "Null", "NULL", "yes", "Yes", "YES", "no",  "No",
                                                    "NO",   "on",   "On",   "ON",  "off", "Off", "OFF", "y"};
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@+";
  const bool starts_plain = !text.empty() && kPlain.substr(0, 63).find(text[0]) != std::string_view::npos;
  const bool is_plain = text.find_first_not_of(kPlain) == text.npos && !text.ends_with(':');
  if (starts_plain && is_plain && std::ranges::find(kWords, text) == kWords.end()) return text;
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + '"';
}

}  // namespace ravelin::config
