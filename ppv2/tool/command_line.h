// What the command line asks for.
#pragma once

#include <string>
#include <variant>

#include "ppv2/tool/build_header.h"
#include "ppv2/tool/input.h"

namespace ravelin::ppv2_tool {

enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2 };

struct Asked {
  enum class Command { decode, sniff, encode };
  Command command = Command::decode;
  InputChoice input;  // decode, sniff
  bool json = false;
  HeaderWords words;  // encode
  bool as_hex = false;
};

// Prints help, version or what is wrong itself; then there is only an exit code.
[[nodiscard]] std::variant<Asked, Exit> read_command_line(int argc, char** argv);

// ppv2(1) as man(7) source, made from the options that read_command_line() knows.
[[nodiscard]] std::string manual_page();

}  // namespace ravelin::ppv2_tool
