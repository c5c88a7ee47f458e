// What a run of the generator is told on its command line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace ravelin::bench {

struct Options {
  std::string to;                      // HOST:PORT of the proxy, or of the origin itself
  std::string listen = "127.0.0.1:0";  // the origin's address
  std::string counters;                // file that both sides map
  std::string direction = "up";        // up, down or both
  unsigned connections = 1;
  unsigned held = 0;            // idle sessions beside the measured ones
  unsigned in_flight = 64;      // sessions being set up at once
  std::uint32_t question = 64;  // bytes
  std::uint32_t answer = 64;    // bytes
  std::chrono::milliseconds warm_up{300};
  std::chrono::milliseconds measure{600};
  std::chrono::milliseconds interval{30'000};  // of one session's heartbeats
  bool slow = false;                           // the stalled origin reads a little, not nothing
  std::vector<pid_t> proxies;                  // whose CPU time and memory are the result
  pid_t origin_process = 0;
};

[[nodiscard]] Options parse_options(int count, char** words);
[[nodiscard]] std::string options_text();

}  // namespace ravelin::bench
