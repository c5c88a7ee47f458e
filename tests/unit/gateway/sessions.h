// A session in memory, and the log that a policy writes, for tests without sockets.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gateway/gateway_policy.h"
#include "headers.h"
#include "sys/unique_fd.h"

namespace ravelin::gateway::test {

struct FakeSession {
  relay::SessionRecord record;
  GatewaySession kept;

  explicit FakeSession(std::string_view client = "198.51.100.7:40112") {
    record.client = at(client);
    record.local = at("192.0.2.10:8443");
    record.id.bytes = {0xab, 0xcd};
    record.accepted_wall_us = 1'767'323'045'678'000;
  }
  [[nodiscard]] relay::SessionView view() { return {record, std::as_writable_bytes(std::span(&kept, 1))}; }
};

// A log whose lines can be read.
class ReadableLog {
 public:
  ReadableLog() { log_.emplace(sys::LogFormat::json, sys::LogLevel::info, file_.get()); }

  [[nodiscard]] sys::Log& log() { return *log_; }
  // Ends the log.
  [[nodiscard]] std::vector<nlohmann::json> lines() {
    log_.reset();
    std::string text(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    const ssize_t count = ::pread(file_.get(), text.data(), text.size(), 0);
    std::istringstream stream(text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(0, count))));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

 private:
  sys::UniqueFd file_{::memfd_create("log", MFD_CLOEXEC)};
  std::optional<sys::Log> log_;
};

// A policy with all that it borrows.
struct Rig {
  ReadableLog log;
  ppv2::PeerMap peers;
  relay::CounterBlock counters;
  std::int64_t now_ms = 1'000'000;
  std::optional<GatewayPolicy> policy;

  explicit Rig(GatewayFacts facts) {
    policy.emplace(std::make_shared<const GatewayFacts>(std::move(facts)), peers, counters, log.log(),
                   [this] { return now_ms; });
  }
  Rig() : Rig(default_facts()) {}

  [[nodiscard]] static GatewayFacts default_facts() {
    return {.doors = {{.name = "main",
                       .rules = {ppv2::Policy::sniff, ppv2::Untrusted::mark},
                       .trusted_edges = {*sys::Cidr::parse("198.51.100.0/24")}}},
            .inner = *sys::Endpoint::parse("127.0.0.1:9"),
            .inner_sources = {at("127.0.0.1:0")}};
  }
};

}  // namespace ravelin::gateway::test
