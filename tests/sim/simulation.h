// What the simulations share: chance from a seed, and a failure that says what was wrong.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sim {

// The same seed gives the same schedule, with every standard library: the distributions are its own.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  [[nodiscard]] std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + below(most - least + 1);
  }
  [[nodiscard]] bool percent(unsigned share) { return below(100) < share; }
  template <class T>
  [[nodiscard]] T& one_of(std::vector<T>& choice) {
    return choice[below(choice.size())];
  }

 private:
  std::mt19937_64 random_;
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Values>
void require(bool holds, fmt::format_string<Values...> what, Values&&... values) {
  if (!holds) throw Failure(fmt::format(what, std::forward<Values>(values)...));
}

// Each plays one schedule and throws a Failure if something did not hold.
void limiter(Chance& chance);
void pool(Chance& chance);
void hand_over(Chance& chance);

}  // namespace sim
