#include "config/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "config/flags.h"

namespace ravelin::config {
namespace {

struct Row {
  std::string path;
  const Entry& entry;
  std::string fallback;  // "required", "default 10s", "not set", "none"; empty for a section of defaults
  std::string flag;      // "--listen ADDR"
};

// "listeners[].address" for every way to write an index.
std::string pattern_of(const std::vector<Step>& steps) {
  std::string path;
  for (const Step& step : steps) path = join_path(path, step.key) + (step.which == Step::Which::self ? "" : "[]");
  return path;
}

std::string fallback_of(const Entry& entry, const void* defaults) {
  if (entry.required) return "required";
  if (entry.kind == Entry::Kind::section) return entry.objects(defaults).empty() ? "not set" : "";
  if (entry.kind == Entry::Kind::sections) return entry.objects(defaults).empty() ? "none" : "built in";
  const auto texts = entry.texts(defaults);
  if (texts.empty()) return entry.kind == Entry::Kind::values ? "none" : "not set";
  return fmt::format("default {}", texts.front().empty() ? "empty" : fmt::to_string(fmt::join(texts, ", ")));
}

void collect(const Section& schema, const std::string& prefix, const std::vector<Flag>& flags, std::vector<Row>& rows) {
  for (const Entry& entry : schema.entries()) {
    const bool is_list = entry.kind == Entry::Kind::sections;
    const std::string path = join_path(prefix, entry.key) + (is_list ? "[]" : "");
    const auto flag = std::ranges::find_if(flags, [&](const Flag& one) { return pattern_of(one.steps) == path; });
    const std::string usage = flag == flags.end() ? "" : flag->name + (entry.is_switch ? "" : " " + entry.placeholder);
    rows.push_back({path, entry, fallback_of(entry, schema.defaults()), usage});
    if (entry.inner != nullptr) collect(*entry.inner, path, flags, rows);
  }
}

std::vector<Row> rows_of(const Section& schema, const std::vector<Flag>& flags) {
  std::vector<Row> rows;
  collect(schema, "", flags, rows);
  return rows;
}

std::string kind_of(const Entry& entry) {
  return entry.kind == Entry::Kind::values ? "a list, each " + entry.expected : entry.expected;
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string in_cell(const std::string& text) {
  return replace_all(text, "|", "\\|");
}

// groff(7): a backslash starts an escape, a hyphen is typographic unless escaped, a line's first dot or quote is a
// request.
std::string in_man(const std::string& text) {
  const std::string escaped = replace_all(replace_all(text, "\\", "\\e"), "-", "\\-");
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

}  // namespace

std::string reference_markdown(const Section& schema, const Program& program) {
  std::string text = fmt::format("# Settings of `{}`\n\n{}\n\n", program.name, sentence(program.summary));
  text += "| key | what it takes | if left out | flag | meaning |\n|---|---|---|---|---|\n";
  for (const Row& row : rows_of(schema, flags_of(schema))) {
    const std::string flag = row.flag.empty() ? "" : "`" + row.flag + "`";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.path, in_cell(kind_of(row.entry)), in_cell(row.fallback),
                        in_cell(flag), in_cell(sentence(row.entry.help)));
  }
  return text;
}

std::string reference_man(const Section& schema, const Program& program) {
  const std::string name = in_man(program.name);
  std::string text = fmt::format(".TH {} 5 \"\" \"{} {}\"\n.SH NAME\n{}.yaml \\- settings of {}\n",
                                 in_man(program.name), name, program.version, name, name);
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH SETTINGS\n", in_man(sentence(program.summary)));
  for (const Row& row : rows_of(schema, flags_of(schema))) {
    text += fmt::format(".TP\n.B {}\n{}\n", in_man(row.path), in_man(sentence(row.entry.help)));
    text += fmt::format("Takes {}.\n", in_man(kind_of(row.entry)));
    if (!row.fallback.empty()) text += fmt::format("If left out: {}.\n", in_man(row.fallback));
    if (!row.flag.empty()) text += fmt::format("Flag: {}.\n", in_man(row.flag));
  }
  return text;
}

}  // namespace ravelin::config
