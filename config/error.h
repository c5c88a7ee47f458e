// What is wrong in a config, and where: "edge.yaml:7:12: unknown key 'listen_addr' in listeners[0], did you mean
// 'address'?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ravelin::config {

// Where a value comes from. Lines and columns count from 1, columns in bytes, as compilers and editors do.
struct Place {
  int line = 0;
  int column = 0;
  std::string flag;  // "--listen", for a value that a command line gave
};

struct ConfigError {
  std::string file;  // empty when a flag, or a flag that is missing, is to blame
  int line = 0;      // 0: the file as a whole
  int column = 0;
  std::string what;  // what, and what was expected

  [[nodiscard]] std::string text() const;
};

using ConfigErrors = std::vector<ConfigError>;

// One a line in the file's order; past a hundred only how many more there are.
[[nodiscard]] std::string text_of(ConfigErrors errors);

// `text` with what a terminal would obey written as \xNN, and cut with "..." past `most` bytes.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 1000);

// The offset of the first byte that is no UTF-8 or a control character other than tab and line ends; npos if there is
// none.
[[nodiscard]] std::size_t find_unprintable(std::string_view text);

}  // namespace ravelin::config
