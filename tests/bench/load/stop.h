// How the generator ends when the set-up of a run fails: one line on stderr, exit code 1. A run that goes wrong later
// counts its errors instead and prints them with the result.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ravelin::bench {

template <class... Args>
[[noreturn]] void stop(fmt::format_string<Args...> text, Args&&... args) {
  fmt::print(stderr, "bench_load: {}\n", fmt::format(text, std::forward<Args>(args)...));
  std::exit(EXIT_FAILURE);
}

template <class... Args>
[[noreturn]] void stop_errno(fmt::format_string<Args...> text, Args&&... args) {
  const int code = errno;
  stop("{}: {}", fmt::format(text, std::forward<Args>(args)...), std::strerror(code));
}

}  // namespace ravelin::bench
