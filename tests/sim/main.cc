// Schedules of what decides and asks nobody: limits, pools, the hand-over of sessions from one process to the next.
// Time, names and deaths come from a seed, thousands of schedules a second; the same seed plays the same ones again.
//
//   sim [--seed N] [--schedules N] [--only NAME [--schedule I]]

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include "tests/sim/simulation.h"

namespace {

struct Simulation {
  const char* name;
  void (*play)(sim::Chance&);
};

constexpr std::array kSimulations{Simulation{"limiter", sim::limiter}, Simulation{"pool", sim::pool},
                                  Simulation{"hand_over", sim::hand_over}};

struct Options {
  std::uint64_t seed = std::random_device()();
  std::uint64_t schedules = 2000;
  std::string only;
  std::int64_t schedule = -1;
};

// Far enough from each other for neighbours.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t schedule) {
  return seed * 0x9e3779b97f4a7c15U + schedule;
}

bool run(const Simulation& simulation, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t first = options.schedule < 0 ? 0 : static_cast<std::uint64_t>(options.schedule);
  const std::uint64_t end = options.schedule < 0 ? options.schedules : first + 1;
  for (std::uint64_t schedule = first; schedule < end; ++schedule) {
    sim::Chance chance(seed_of(options.seed, schedule));
    try {
      simulation.play(chance);
    } catch (const sim::Failure& failure) {
      std::printf("FAILED: %s: %s\nagain: sim --seed %llu --only %s --schedule %llu\n", simulation.name, failure.what(),
                  static_cast<unsigned long long>(options.seed), simulation.name,
                  static_cast<unsigned long long>(schedule));
      return false;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("passed: %s, %llu schedules, %.0f a second\n", simulation.name,
              static_cast<unsigned long long>(end - first), static_cast<double>(end - first) / took.count());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Plays schedules of limits, pools and hand-overs", "sim");
  app.add_option("--seed", options.seed, "What the schedules are drawn from");
  app.add_option("--schedules", options.schedules, "How many of each kind");
  app.add_option("--only", options.only, "limiter, pool or hand_over");
  app.add_option("--schedule", options.schedule, "This one alone");
  CLI11_PARSE(app, argc, argv);
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  int passed = 0;
  int failed = 0;
  for (const Simulation& simulation : kSimulations) {
    if (!options.only.empty() && options.only != simulation.name) continue;
    run(simulation, options) ? ++passed : ++failed;
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
