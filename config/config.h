// From YAML and a command line to a program's typed settings, for its main(). Everything about the settings comes from
// one table, the schema:
//
//   struct Listener { sys::Endpoint address; bool proxy = true; };
//   struct Limits { std::uint32_t sessions = 10'000; sys::Duration idle{0}; };
//   struct Settings { std::vector<Listener> listeners; Limits limits; std::vector<sys::Cidr> trusted; };
//
//   config::Schema<Settings> settings_schema() {
//     config::Schema<Listener> listener;
//     listener.option("address", &Listener::address, {.help = "where clients connect", .flag = "--listen", .required =
//     true})
//         .option("proxy", &Listener::proxy, {.help = "whether a PROXY header is expected"});
//     config::Schema<Limits> limits;
//     limits.option("sessions", &Limits::sessions, {.help = "most sessions at once", .least = 1, .most = 1'000'000})
//         .option("idle", &Limits::idle, {.help = "how long a session may be silent; 0 is for ever"});
//     config::Schema<Settings> root;
//     root.list("listeners", &Settings::listeners, listener, {.help = "listening sockets", .required = true})
//         .section("limits", &Settings::limits, limits)
//         .option("trusted", &Settings::trusted, {.help = "edges whose headers count", .flag = "--trusted-edge"})
//         .flag("--proxy", "listeners[*].proxy")
//         .check([](const Settings& s, config::Report& r) { if (...) r.at("limits.idle", "'5s' is ..., expected ...");
//         });
//     return root;
//   }
//   int main(int argc, char** argv) {
//     auto loaded = config::load(argc, argv, settings_schema(), {.name = "edge", .version = "1.0", .summary = "..."});
//     if (const auto* exit = std::get_if<sys::Exit>(&loaded)) return static_cast<int>(*exit);
//     const Settings& settings = std::get<config::Loaded<Settings>>(loaded).settings;
//
// Nothing throws. Everything may be called from any thread, and only load() writes, to stdout and stderr.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "config/command_line.h"
#include "config/print.h"
#include "config/reader.h"
#include "config/reference.h"
#include "config/schema.h"
#include "sys/result.h"

namespace ravelin::config {

// Settings, with where each of them comes from.
template <class T>
struct Loaded {
  T settings;
  Sources sources;
  CommandLine command_line;
};

// The untyped halves of the functions below.
[[nodiscard]] ConfigErrors read_from(const CommandLine& line, const Section& schema, void* settings, Sources& sources);
[[nodiscard]] ConfigErrors read_text(std::string_view yaml, const CommandLine& line, const Section& schema,
                                     void* settings, Sources& sources);
[[nodiscard]] Answer refusal(const ConfigErrors& errors, const Program& program);
[[nodiscard]] std::optional<Answer> answer(const CommandLine& line, const Section& schema, const void* settings,
                                           const Sources& sources);
[[nodiscard]] std::optional<Answer> answer_without_settings(const CommandLine& line, const Section& schema,
                                                            const Program& program);
// Writes an answer to stdout and stderr; its exit code, or Exit::failed if stdout cannot be written.
[[nodiscard]] sys::Exit say(const Answer& answer);

// Reads the command line's file and flags again: for a reload, with the command line that was kept.
template <class T>
[[nodiscard]] tl::expected<Loaded<T>, ConfigErrors> reload(const CommandLine& line, const Schema<T>& schema) {
  Loaded<T> loaded{.command_line = line};
  auto errors = read_from(line, schema, &loaded.settings, loaded.sources);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return loaded;
}

// Reads YAML that is already in memory; `file` is what errors call it.
template <class T>
[[nodiscard]] tl::expected<Loaded<T>, ConfigErrors> from_text(std::string_view yaml, const Schema<T>& schema,
                                                              std::string file = "config.yaml") {
  Loaded<T> loaded{.command_line = {.file = std::move(file)}};
  auto errors = read_text(yaml, loaded.command_line, schema, &loaded.settings, loaded.sources);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return loaded;
}

// Settings from what print() has printed, in the place of the command line's file and flags; a reload reads those
// again.
template <class T>
[[nodiscard]] tl::expected<Loaded<T>, ConfigErrors> restore(std::string_view printed, const CommandLine& line,
                                                            const Schema<T>& schema) {
  auto loaded = from_text(printed, schema, "the kept settings");
  if (loaded) loaded->command_line = line;
  return loaded;
}

// The whole of it without the terminal: settings to run with, or what to say instead. `printed`: see restore().
template <class T>
[[nodiscard]] std::variant<Loaded<T>, Answer> load_quietly(std::span<const std::string> arguments,
                                                           const Schema<T>& schema, const Program& program,
                                                           const std::optional<std::string>& printed = {}) {
  auto parsed = parse_command_line(arguments, schema, program);
  if (auto* said = std::get_if<Answer>(&parsed)) return std::move(*said);
  const CommandLine& line = std::get<CommandLine>(parsed);
  if (auto said = answer_without_settings(line, schema, program)) return std::move(*said);
  auto loaded = printed ? restore(*printed, line, schema) : reload(line, schema);
  if (!loaded) return refusal(loaded.error(), program);
  if (auto said = answer(line, schema, &loaded->settings, loaded->sources)) return std::move(*said);
  return std::move(*loaded);
}

// For main(): settings to run with, or the code to exit with when everything has been said (help, errors, --check,
// ...).
template <class T>
[[nodiscard]] std::variant<Loaded<T>, sys::Exit> load(int argc, const char* const* argv, const Schema<T>& schema,
                                                      const Program& program,
                                                      const std::optional<std::string>& printed = {}) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto loaded = load_quietly(arguments, schema, program, printed);
  if (const auto* said = std::get_if<Answer>(&loaded)) return say(*said);
  return std::move(std::get<Loaded<T>>(loaded));
}

// What --print-config prints.
template <class T>
[[nodiscard]] std::string print(const Loaded<T>& loaded, const Schema<T>& schema) {
  return print_settings(schema, &loaded.settings, loaded.sources, loaded.command_line.file);
}

template <class T>
[[nodiscard]] std::vector<Change> diff(const T& before, const T& after, const Schema<T>& schema) {
  return diff_settings(schema, &before, &after);
}

}  // namespace ravelin::config
