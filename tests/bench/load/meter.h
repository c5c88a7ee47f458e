// What a stretch of time cost: CPU seconds of the proxy's processes, of the origin and of the client, and what the
// origin counted meanwhile. CPU time is the kernel's own account of a process (clock_getcpuclockid(3)): on loopback it
// includes the softirq work that a sender's system call sets off, for every proxy alike.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/bench/load/counters.h"
#include "tests/bench/load/options.h"
#include "tests/bench/load/poller.h"

namespace ravelin::bench {

struct Reading {
  Clock::time_point at;
  std::chrono::nanoseconds proxy{0};
  std::chrono::nanoseconds origin{0};
  std::chrono::nanoseconds client{0};
  std::uint64_t received = 0;  // by the origin
  std::uint64_t sent = 0;      // by the origin
};

class Meter {
 public:
  Meter(const Options& options, const Counters& counters);

  [[nodiscard]] Reading read() const;

 private:
  const Counters& counters_;
  std::vector<clockid_t> proxies_;
  clockid_t origin_ = CLOCK_PROCESS_CPUTIME_ID;
  bool has_origin_ = false;
};

[[nodiscard]] double seconds(std::chrono::nanoseconds duration);
// {"seconds", "proxy_cpu", "origin_cpu", "client_cpu", "bytes_up"}
[[nodiscard]] nlohmann::json cost(const Reading& from, const Reading& to);

// Private and shared memory of each proxy process: [{"pid", "rss_anon", "rss_shmem"}] in KiB (proc(5), status).
[[nodiscard]] nlohmann::json process_memory(const std::vector<pid_t>& processes);
// {"slab", "available", "tcp"} in KiB: the whole machine's (proc(5), meminfo and net/sockstat).
[[nodiscard]] nlohmann::json host_memory();

}  // namespace ravelin::bench
