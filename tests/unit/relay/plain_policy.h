// The simplest policy there is: every session goes to one address, with a fixed header in front.
#pragma once

#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "relay/policy.h"

namespace ravelin::relay {

// What has ended, seen from any thread.
class Ends {
 public:
  void add(const SessionRecord& record) {
    const std::scoped_lock lock(mutex_);
    ends_.push_back(record);
  }
  [[nodiscard]] std::vector<SessionRecord> all() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<SessionRecord> ends_;
};

class PlainPolicy final : public SessionPolicy {
 public:
  PlainPolicy(std::vector<sys::SocketAddress> origins, std::string header, Ends& ends)
      : origins_(std::move(origins)), header_(std::move(header)), ends_(ends) {}

  Opening inspect(SessionView, std::span<const std::byte> bytes, bool) override {
    // A leading '#' line is not for the origin.
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    if (text[0] != '#') return {.verdict = Opening::Verdict::proceed};
    const auto* end = static_cast<const char*>(std::memchr(text, '\n', bytes.size()));
    if (end == nullptr) return {};
    return {.verdict = Opening::Verdict::proceed, .skip = static_cast<std::uint32_t>(end + 1 - text)};
  }

  std::optional<Target> next_target(SessionView session) override {
    if (session.record.attempts >= origins_.size()) return std::nullopt;
    Target target{.origin = session.record.attempts};
    target.length = origins_[session.record.attempts].to(target.address);
    return target;
  }

  std::size_t write_header(SessionView, std::span<std::byte> out) override {
    std::memcpy(out.data(), header_.data(), header_.size());
    return header_.size();
  }

  void ended(SessionView session) override { ends_.add(session.record); }

 private:
  std::vector<sys::SocketAddress> origins_;
  std::string header_;
  Ends& ends_;
};

}  // namespace ravelin::relay
