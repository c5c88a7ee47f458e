#include "relay/oom_score.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "sys/unique_fd.h"

namespace ravelin::relay {

std::optional<int> oom_score_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/oom_score_adj";
  std::array<char, 16> text{};
  const sys::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = file ? ::read(file.get(), text.data(), text.size()) : -1;
  int score = 0;
  if (count <= 0 || std::from_chars(text.data(), text.data() + count, score).ec != std::errc()) return std::nullopt;
  return score;
}

void set_oom_score(std::optional<int> score) {
  if (!score) return;
  std::array<char, 16> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), *score).ptr;
  const sys::UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), text.data(), static_cast<std::size_t>(end - text.data()));
}

}  // namespace ravelin::relay
