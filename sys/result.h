// Errors as values: what failed, on what, and why.
//
//   Result<UniqueFd> open_log(path) { ... return fail(errno, "cannot open log file {}", path); }
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace ravelin::sys {

struct Error {
  int code = 0;      // an errno value, or 0 when no system call is behind it
  std::string what;  // a clause that names the object: "cannot listen on [::]:443"

  // "cannot listen on [::]:443: Address already in use"
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

template <class... Args>
[[nodiscard]] Failure fail(int code, fmt::format_string<Args...> what, Args&&... args) {
  return Failure(Error{code, fmt::format(what, std::forward<Args>(args)...)});
}

// Exit codes of every program here (sysexits.h names the last four).
enum class Exit : int { ok = 0, failed = 1, usage = 2, unavailable = 69, no_permission = 77, bad_config = 78 };

// The exit code that tells an operator what kind of failure a system call's errno is.
[[nodiscard]] Exit exit_for(const Error& error);

}  // namespace ravelin::sys
