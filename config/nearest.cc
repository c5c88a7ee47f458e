#include "config/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace ravelin::config {
namespace {

constexpr std::size_t kLongestName = 64;  // nothing longer is a slip of the finger

// How many letters must be added, dropped or changed (Levenshtein's distance).
std::size_t letters_apart(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  while (!name.empty()) {
    const auto word = name.substr(0, name.find_first_of("_-"));
    if (word.size() >= 3) words.push_back(word);
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return words;
}

bool share_a_word(std::string_view a, std::string_view b) {
  for (const auto left : words_of(a)) {
    for (const auto right : words_of(b)) {
      if (left.starts_with(right) || right.starts_with(left)) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> names) {
  if (wrong.size() > kLongestName) return {};
  std::string_view best;
  std::size_t least = kLongestName * 4;
  for (const auto name : names) {
    const std::size_t apart = letters_apart(wrong, name);
    const bool is_slip = apart <= std::max<std::size_t>(1, std::max(wrong.size(), name.size()) / 3);
    if (!is_slip && !share_a_word(wrong, name)) continue;
    const std::size_t distance = apart + (is_slip ? 0 : kLongestName);
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

}  // namespace ravelin::config
