#include "config/config.h"

#include <algorithm>
#include <cstdio>

#include "config/document.h"

namespace ravelin::config {
namespace {

bool write(std::FILE* stream, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

}  // namespace

ConfigErrors read_from(const CommandLine& line, const Section& schema, void* settings, Sources& sources) {
  if (line.file.empty()) return read_text("", line, schema, settings, sources);
  const auto text = read_file(line.file);
  if (!text) return {text.error()};
  return read_text(*text, line, schema, settings, sources);
}

ConfigErrors read_text(std::string_view yaml, const CommandLine& line, const Section& schema, void* settings,
                       Sources& sources) {
  ConfigErrors errors;
  Tree tree;
  tree.file = line.file;
  tree.flags = flags_of(schema);
  if (!line.file.empty()) {
    auto root = parse_yaml(yaml, line.file, errors);
    if (!root) return errors;
    tree.root = std::move(*root);
  }
  overlay(tree.root, tree.flags, line.flags);
  read_settings(tree, schema, settings, sources, errors);
  return errors;
}

Answer refusal(const ConfigErrors& errors, const Program& program) {
  const bool in_file = std::ranges::any_of(errors, [](const ConfigError& error) { return !error.file.empty(); });
  if (in_file) return {.exit = sys::Exit::bad_config, .err = text_of(errors)};
  std::string text;
  for (const ConfigError& error : errors) text += program.name + ": " + error.text() + "\n";
  return {.exit = sys::Exit::usage, .err = text + "Try '" + program.name + " --help'.\n"};
}

std::optional<Answer> answer(const CommandLine& line, const Section& schema, const void* settings,
                             const Sources& sources) {
  switch (line.action) {
    case CommandLine::Action::check:
      return Answer{.out = (line.file.empty() ? "command line" : printable(line.file)) + ": ok\n"};
    case CommandLine::Action::print_config:
      return Answer{.out = print_settings(schema, settings, sources, line.file)};
    default:
      return std::nullopt;
  }
}

std::optional<Answer> answer_without_settings(const CommandLine& line, const Section& schema, const Program& program) {
  switch (line.action) {
    case CommandLine::Action::markdown:
      return Answer{.out = reference_markdown(schema, program)};
    case CommandLine::Action::man:
      return Answer{.out = reference_man(schema, program)};
    default:
      return std::nullopt;
  }
}

sys::Exit say(const Answer& answer) {
  if (!answer.err.empty()) (void)write(stderr, answer.err);  // there is nowhere left to report to
  if (!answer.out.empty() && !write(stdout, answer.out)) return sys::Exit::failed;
  return answer.exit;
}

}  // namespace ravelin::config
