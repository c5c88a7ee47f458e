#include "config/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <map>

#include "config/error.h"
#include "config/nearest.h"

namespace ravelin::config {
namespace {

constexpr int kHelpColumn = 34;

const std::map<std::string, CommandLine::Action> kReferences{{"markdown", CommandLine::Action::markdown},
                                                             {"man", CommandLine::Action::man}};

// One flag while CLI11 fills it.
struct Given {
  const Flag* flag;
  std::vector<std::string> values;
};

struct Common {
  std::vector<std::string> file;
  bool check = false;
  bool print_config = false;
  std::vector<std::string> reference;
};

Answer usage_error(const Program& program, std::string_view what) {
  return {.exit = sys::Exit::usage, .err = fmt::format("{0}: {1}\nTry '{0} --help'.\n", program.name, printable(what))};
}

std::string describe(const Flag& flag, const Section& schema) {
  std::string text = flag.entry->help;
  if (flag.is_repeatable()) return text + "; may be given several times";
  if (flag.entry->required) return text;
  // Only settings outside lists have one default.
  const Section* section = &schema;
  const void* object = schema.defaults();
  for (std::size_t i = 0; i + 1 < flag.steps.size(); ++i) {
    const Entry* entry = section->find(flag.steps[i].key);
    if (entry->kind != Entry::Kind::section) return text;
    const auto objects = entry->objects(object);
    if (objects.empty()) return text;
    object = objects.front();
    section = entry->inner.get();
  }
  const auto texts = flag.entry->texts(object);
  if (flag.entry->is_switch && texts.front() == "true")
    return fmt::format("{} (default); {}=false turns it off", text, flag.name);
  if (!texts.empty() && !texts.front().empty()) text += fmt::format(" (default {})", texts.front());
  return text;
}

// Exactly one value for each use: "--listen :80 --listen :443", never "--listen :80 :443".
void one_value_each(CLI::Option* option, const std::string& placeholder) {
  option->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(placeholder);
}

void add_flags(CLI::App& app, std::deque<Given>& given, Common& common, const Section& schema) {
  for (Given& one : given) {
    const Entry& entry = *one.flag->entry;
    if (entry.is_switch) {
      app.add_flag(one.flag->name, one.values, describe(*one.flag, schema))->group("Settings");
    } else {
      auto* option = app.add_option(one.flag->name, one.values, describe(*one.flag, schema))->group("Settings");
      one_value_each(option, entry.placeholder);
    }
  }
  one_value_each(app.add_option("--config", common.file, "Read settings from FILE; flags go over it"), "FILE");
  app.add_flag("--check", common.check, "Say whether the settings are right, and exit");
  app.add_flag("--print-config", common.print_config, "Print all settings and where each comes from, and exit");
  one_value_each(app.add_option("--reference", common.reference, "Print the description of every setting, and exit"),
                 "markdown|man");
}

std::string unknown_argument(const std::string& argument, const std::deque<Given>& given) {
  if (!argument.starts_with('-')) return fmt::format("unexpected argument '{}', expected only flags", argument);
  std::vector<std::string_view> names{"--config", "--check", "--print-config", "--reference", "--version", "--help"};
  for (const Given& one : given) names.emplace_back(one.flag->name);
  const auto meant = nearest(argument.substr(0, argument.find('=')), names);
  return meant.empty() ? fmt::format("unknown flag '{}'", argument)
                       : fmt::format("unknown flag '{}', did you mean '{}'?", argument, meant);
}

}  // namespace

std::variant<CommandLine, Answer> parse_command_line(std::span<const std::string> arguments, const Section& schema,
                                                     const Program& program) {
  const std::vector<Flag> flags = flags_of(schema);
  std::deque<Given> given;  // CLI11 keeps references to the elements
  for (const Flag& flag : flags) given.push_back({.flag = &flag});
  Common common;
  try {
    CLI::App app(program.summary, program.name);
    app.get_formatter()->column_width(kHelpColumn);
    app.footer(program.example.empty() ? "" : "Example:\n  " + program.example);
    app.set_version_flag("--version", program.name + " " + program.version);
    app.allow_extras();
    add_flags(app, given, common, schema);
    try {
      app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
    } catch (const CLI::CallForHelp&) {
      return Answer{.out = app.help()};
    } catch (const CLI::CallForVersion&) {
      return Answer{.out = program.name + " " + program.version + "\n"};
    }
    if (const auto rest = app.remaining(); !rest.empty())
      return usage_error(program, unknown_argument(rest.front(), given));
  } catch (const CLI::Error& error) {
    return usage_error(program, error.what());
  }

  CommandLine line;
  for (const Given& one : given) {
    if (one.values.size() > 1 && !one.flag->is_repeatable()) {
      return usage_error(program, fmt::format("{} is given twice, expected once", one.flag->name));
    }
    for (const std::string& value : one.values) line.flags.push_back({.flag = one.flag->name, .text = value});
  }
  if (common.file.size() > 1) return usage_error(program, "--config is given twice, expected one file");
  if (!common.file.empty()) line.file = common.file.front();
  if (!common.file.empty() && line.file.empty())
    return usage_error(program, "--config names no file, expected --config FILE");
  if (common.print_config) line.action = CommandLine::Action::print_config;
  if (common.check) line.action = CommandLine::Action::check;
  if (!common.reference.empty()) {
    const auto reference = kReferences.find(common.reference.back());
    if (reference == kReferences.end()) {
      return usage_error(
          program, fmt::format("--reference: '{}' is not known, expected markdown or man", common.reference.back()));
    }
    line.action = reference->second;
  }
  return line;
}

}  // namespace ravelin::config
