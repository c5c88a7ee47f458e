// What the program is asked to look at: hex digits from the command line, a file, or standard input.
#pragma once

#include <ppv2/decoder.h>

#include <string>
#include <string_view>
#include <variant>

namespace ravelin::ppv2_tool {

struct InputError {
  std::string what;  // "cannot read header.bin: No such file or directory"
  bool usage = false;
};

using Input = std::variant<std::string, InputError>;

struct InputChoice {
  std::string hex;         // as in a dump: spaces, colons, line ends and a leading 0x are skipped
  bool has_hex = false;    // otherwise `file` is read
  std::string file = "-";  // "-" is standard input
};

[[nodiscard]] Input parse_hex(std::string_view text);

// All of it, at most what a header and a first look behind it can need.
[[nodiscard]] Input read_whole(const InputChoice& choice);

// No more than the decision takes: a stream whose sender waits for an answer is judged at once.
[[nodiscard]] Input read_until_decided(const InputChoice& choice);

}  // namespace ravelin::ppv2_tool
