// A file with a config in it that is gone when the test is.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "sys/unique_fd.h"

namespace sample {

struct ConfigFile {
  explicit ConfigFile(const std::string& yaml) {
    const ravelin::sys::UniqueFd fd(::mkstemp(path.data()));
    REQUIRE(fd);
    write(yaml);
  }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  ~ConfigFile() { ::unlink(path.c_str()); }

  void write(const std::string& yaml) const { std::ofstream(path) << yaml; }

  std::string path = "/tmp/ravelin-config-XXXXXX";
};

}  // namespace sample
