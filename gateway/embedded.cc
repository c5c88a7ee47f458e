// Gateway, as other programs embed it: the engine with a control loop and its thread.
#include <gateway/gateway.h>
#include <pthread.h>

#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "bridge/addresses.h"
#include "gateway/settings.h"
#include "relay/engine.h"
#include "sys/log.h"
#include "sys/mailbox.h"
#include "sys/signals.h"
#include "sys/uv.h"

namespace ravelin::gateway {
namespace {

using bridge::to_ppv2;

tl::unexpected<StartError> refuse(int code, std::string what) {
  return tl::unexpected(StartError{.code = code, .what = std::move(what)});
}

tl::expected<ListenerSettings, StartError> parse(const ListenerOptions& options) {
  ListenerSettings listener;
  auto address = sys::Endpoint::parse(options.address);
  if (!address) return refuse(address.error().code, address.error().text());
  listener.address = std::move(*address);
  listener.name = options.name;
  listener.policy = options.policy;
  listener.untrusted = options.untrusted;
  listener.wait_for_client = options.wait_for_client;
  listener.timeouts.first_byte = options.first_byte;
  listener.silence = options.silence;
  for (const std::string& text : options.trusted_edges) {
    const auto range = sys::Cidr::parse(text);
    if (!range) return refuse(0, "trusted_edges: '" + text + "' is not an address range, expected 203.0.113.0/24");
    listener.trusted_edges.push_back(*range);
  }
  return listener;
}

tl::expected<FrontSettings, StartError> parse(const Options& options) {
  FrontSettings settings{.inner_header = options.inner_header};
  for (const ListenerOptions& listener : options.listeners) {
    auto parsed = parse(listener);
    if (!parsed) return tl::unexpected(std::move(parsed.error()));
    settings.listeners.push_back(std::move(*parsed));
  }
  auto inner = sys::Endpoint::parse(options.inner);
  if (!inner) return refuse(inner.error().code, "inner: " + inner.error().text());
  settings.inner = std::move(*inner);
  for (const std::string& text : options.inner_sources) {
    const auto source = sys::SourceAddress::parse(text);
    if (!source) return refuse(0, "inner_sources: '" + text + "' is not an address, expected 127.0.0.2");
    settings.inner_sources.push_back(*source);
  }
  for (const Misfit& misfit : misfits_of(settings)) return refuse(0, misfit.setting + ": " + misfit.what);
  return settings;
}

}  // namespace

class Gateway::Running {
 public:
  Running(const FrontSettings& settings, const Options& options)
      : log_(sys::LogFormat::json, sys::LogLevel::info, options.log_descriptor),
        facts_(std::make_shared<const GatewayFacts>(facts_of(settings))) {
    relay::EngineSettings engine{.loops = options.loops, .max_sessions = options.max_sessions};
    add_to_engine(engine, settings);
    engine_.emplace(loop_, log_, std::move(engine), [this](unsigned loop) {
      return std::make_unique<GatewayPolicy>(facts_, peers_, engine_->table().counters(loop), log_);
    });
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  ~Running() {
    if (!thread_.joinable()) return;
    mail_.post([this] { loop_.stop(); });
    thread_.join();
  }

  [[nodiscard]] sys::Result<void> start() {
    if (auto started = engine_->start(); !started) return started;
    log_untrusted_doors(facts_->doors, log_);
    for (const auto& address : engine_->addresses()) addresses_.push_back(to_ppv2(address));
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "gateway");
      loop_.run();
    });
    return {};
  }

  bool drain(std::chrono::milliseconds patience) {
    std::call_once(draining_, [this] { mail_.post([this] { engine_->drain([this] { drained_.set_value(); }); }); });
    return all_gone_.wait_for(patience) == std::future_status::ready;
  }

  [[nodiscard]] const ppv2::PeerMap& peers() const { return peers_; }
  [[nodiscard]] const std::vector<ppv2::Address>& addresses() const { return addresses_; }
  [[nodiscard]] std::size_t sessions() const { return engine_->sessions(); }

 private:
  sys::Log log_;
  std::shared_ptr<const GatewayFacts> facts_;
  ppv2::PeerMap peers_;
  std::vector<ppv2::Address> addresses_;
  sys::Loop loop_;
  sys::Mailbox mail_{loop_};
  std::optional<relay::Engine> engine_;
  std::once_flag draining_;
  std::promise<void> drained_;
  std::shared_future<void> all_gone_ = drained_.get_future().share();
  std::thread thread_;
};

Gateway::Gateway(std::unique_ptr<Running> running) : running_(std::move(running)) {}
Gateway::~Gateway() = default;

tl::expected<std::unique_ptr<Gateway>, StartError> Gateway::start(const Options& options) {
  const auto settings = parse(options);
  if (!settings) return tl::unexpected(settings.error());
  // What libuv and the standard library cannot have, memory, descriptors or threads, they throw.
  try {
    const sys::SignalsBlocked blocked;  // while threads are made
    auto running = std::make_unique<Running>(*settings, options);
    if (const auto started = running->start(); !started) {
      return refuse(started.error().code, started.error().text());
    }
    return std::unique_ptr<Gateway>(new Gateway(std::move(running)));
  } catch (const std::system_error& error) {
    return refuse(error.code().value(), fmt::format("cannot start: {}", error.what()));
  } catch (const std::exception& error) {
    return refuse(0, fmt::format("cannot start: {}", error.what()));
  }
}

bool Gateway::drain(std::chrono::milliseconds patience) {
  return running_->drain(patience);
}

std::optional<Peer> Gateway::find_peer(const sockaddr* address, socklen_t length) const noexcept {
  const auto entry = running_->peers().find(address, length);
  return entry ? std::optional<Peer>(*entry) : std::nullopt;
}

std::optional<Peer> Gateway::find_peer(std::string_view peer) const noexcept {
  const auto entry = find_by_text(running_->peers(), peer);
  return entry ? std::optional<Peer>(*entry) : std::nullopt;
}

std::vector<ppv2::Address> Gateway::addresses() const {
  return running_->addresses();
}
std::size_t Gateway::sessions() const noexcept {
  return running_->sessions();
}
std::size_t Gateway::peers() const noexcept {
  return running_->peers().size();
}

}  // namespace ravelin::gateway
