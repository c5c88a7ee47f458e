// State lives outside the process: the redirector is killed in the middle of its work, and this process goes on with
// its sessions from nothing but the table and the kernel.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "peers.h"
#include "relay/engine.h"
#include "victim.h"

using namespace ravelin;
using namespace std::chrono_literals;

namespace {

class SilentPolicy final : public relay::SessionPolicy {
 public:
  relay::Opening inspect(relay::SessionView, std::span<const std::byte>, bool) override {
    return {.verdict = relay::Opening::Verdict::refuse, .reason = relay::Reason::internal};
  }
  std::optional<relay::Target> next_target(relay::SessionView) override { return std::nullopt; }
  std::size_t write_header(relay::SessionView, std::span<std::byte>) override { return 0; }
  void ended(relay::SessionView) override {}
};

// The engine of the next process, over what the last one left.
class Successor {
 public:
  explicit Successor(relay::SessionTable table) {
    relay::EngineSettings settings{.extension_bytes = table.shape().extension_bytes};
    settings.listeners.push_back({.name = "resumed", .address = *sys::Endpoint::parse("127.0.0.1:0")});
    engine_ = std::make_unique<relay::Engine>(loop_, log_, settings,
                                              [](unsigned) { return std::make_unique<SilentPolicy>(); });
    const auto resumed = engine_->resume(std::move(table));
    REQUIRE(resumed);
    stop_ = std::make_unique<sys::Async>(loop_, [this] {
      engine_.reset();
      stop_.reset();
    });
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Successor() {
    stop_->send();
    thread_.join();
  }
  [[nodiscard]] std::uint64_t resumed() const { return engine_->count(relay::kResumedSessions); }

 private:
  sys::Log log_{sys::LogFormat::text, sys::LogLevel::error};
  sys::Loop loop_;
  std::unique_ptr<relay::Engine> engine_;
  std::unique_ptr<sys::Async> stop_;
  std::thread thread_;
};

template <class Condition>
void wait_for(Condition condition, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST_CASE("a killed redirector's 200 sessions go on in another process, byte for byte") {
  const char* program = std::getenv("RAVELIN_REDIRECTOR");
  REQUIRE_MESSAGE(program != nullptr, "RAVELIN_REDIRECTOR must name the program to kill");
  constexpr std::size_t kSessions = 200;
  constexpr std::uint64_t kBytes = 400'000;
  // The moment of death differs from round to round by how much has been moved.
  for (const std::uint64_t percent : {2, 11, 23, 37, 52}) {
    CAPTURE(percent);
    takeover::Peers peers(kSessions, kBytes);
    takeover::Victim victim(program, peers.origin());
    peers.start(victim.address());
    wait_for([&] { return peers.received() >= kSessions * kBytes * percent / 100; }, 60s);
    relay::SessionTable table = victim.kill_and_take();
    CHECK(peers.finished() == 0);
    const Successor successor(std::move(table));
    CHECK(successor.resumed() == kSessions);
    wait_for([&] { return peers.finished() + peers.broken() == kSessions; }, 60s);
    peers.stop();
    CHECK(peers.first_fault() == "");
    CHECK(peers.finished() == kSessions);
  }
}
