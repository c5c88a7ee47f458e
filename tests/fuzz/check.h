// A promise that the fuzzer tries to break: unlike assert() it stays in every build.
#pragma once

#include <cstddef>
#include <cstdint>

inline void check(bool kept) {
  if (!kept) __builtin_trap();
}
