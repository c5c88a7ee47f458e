// The command line of a daemon: the flags of its schema and those that every daemon has.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/flags.h"
#include "config/section.h"
#include "sys/result.h"

namespace ravelin::config {

struct Program {
  std::string name;     // "redirector"
  std::string version;  // "0.1.0"
  std::string summary;  // one sentence, without a full stop
  std::string example;  // a command line that works
};

// What was asked for, in a form that can be kept and read again when the file has changed.
struct CommandLine {
  enum class Action { run, check, print_config, markdown, man };

  std::string file;  // empty if none was given
  std::vector<FlagValue> flags;
  Action action = Action::run;
};

// What a program says and exits with instead of running.
struct Answer {
  sys::Exit exit = sys::Exit::ok;
  std::string out;
  std::string err;
};

// `arguments` are those after the program's name.
[[nodiscard]] std::variant<CommandLine, Answer> parse_command_line(std::span<const std::string> arguments,
                                                                   const Section& schema, const Program& program);

}  // namespace ravelin::config
