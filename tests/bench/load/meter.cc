#include "tests/bench/load/meter.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/bench/load/stop.h"

namespace ravelin::bench {
namespace {

std::chrono::nanoseconds cpu_time(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) stop_errno("a measured process is gone");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

clockid_t clock_of(pid_t process) {
  clockid_t clock{};
  const int error = clock_getcpuclockid(process, &clock);
  if (error != 0) stop("cannot read the CPU clock of process {}: {}", process, std::strerror(error));
  return clock;
}

// The number after `key` in a file of "key number" lines or words; 0 when there is none.
std::uint64_t number_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::uint64_t number = 0;
    if (word == key && file >> number) return number;
    file.clear();
  }
  return 0;
}

// "TCP: inuse 5 orphan 0 tw 2 alloc 7 mem 1": pages of payload memory over all sockets of the machine.
std::uint64_t tcp_pages() {
  std::ifstream file("/proc/net/sockstat");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("TCP:")) continue;
    std::istringstream words(line.substr(line.rfind(' ')));
    std::uint64_t pages = 0;
    words >> pages;
    return pages;
  }
  return 0;
}

}  // namespace

Meter::Meter(const Options& options, const Counters& counters) : counters_(counters) {
  for (const pid_t process : options.proxies) proxies_.push_back(clock_of(process));
  has_origin_ = options.origin_process != 0;
  if (has_origin_) origin_ = clock_of(options.origin_process);
}

Reading Meter::read() const {
  Reading reading;
  for (const clockid_t clock : proxies_) reading.proxy += cpu_time(clock);
  if (has_origin_) reading.origin = cpu_time(origin_);
  reading.client = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  reading.received = counters_.received.load(std::memory_order_relaxed);
  reading.sent = counters_.sent.load(std::memory_order_relaxed);
  reading.at = Clock::now();
  return reading;
}

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

nlohmann::json cost(const Reading& from, const Reading& to) {
  return {{"seconds", seconds(to.at - from.at)},
          {"proxy_cpu", seconds(to.proxy - from.proxy)},
          {"origin_cpu", seconds(to.origin - from.origin)},
          {"client_cpu", seconds(to.client - from.client)},
          {"bytes_up", to.received - from.received}};
}

nlohmann::json process_memory(const std::vector<pid_t>& processes) {
  nlohmann::json all = nlohmann::json::array();
  for (const pid_t process : processes) {
    const std::string status = fmt::format("/proc/{}/status", process);
    all.push_back({{"pid", process},
                   {"rss_anon", number_after(status, "RssAnon:")},
                   {"rss_shmem", number_after(status, "RssShmem:")}});
  }
  return all;
}

nlohmann::json host_memory() {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {{"slab", number_after("/proc/meminfo", "Slab:")},
          {"available", number_after("/proc/meminfo", "MemAvailable:")},
          {"tcp", tcp_pages() * page / 1024}};
}

}  // namespace ravelin::bench
