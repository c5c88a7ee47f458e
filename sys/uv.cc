#include "sys/uv.h"

#include <netdb.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>

namespace ravelin::sys {
namespace {

// Making a handle fails only for want of memory or descriptors at start-up.
void must(int status, const char* what) {
  if (status != 0) throw std::runtime_error(fmt::format("{}: {}", what, uv_strerror(status)));
}

template <class Box, class Handle>
auto& callback_of(Handle* handle) {
  return static_cast<Box*>(handle->data)->callback;
}

}  // namespace

Loop::Loop() {
  must(uv_loop_init(&loop_), "uv_loop_init");
}

Loop::~Loop() {
  uv_run(&loop_, UV_RUN_DEFAULT);
  [[maybe_unused]] const int busy = uv_loop_close(&loop_);
  assert(busy == 0);
}

Timer::Timer(Loop& loop, std::function<void()> callback) : box_(new detail::Box<uv_timer_t, std::function<void()>>{}) {
  box_->callback = std::move(callback);
  uv_timer_init(loop.raw(), &box_->handle);
  box_->handle.data = box_.get();
}

void Timer::start(std::chrono::milliseconds delay, std::chrono::milliseconds repeat) {
  uv_timer_start(
      &box_->handle, [](uv_timer_t* handle) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); },
      static_cast<std::uint64_t>(delay.count()), static_cast<std::uint64_t>(repeat.count()));
}

void Timer::stop() {
  uv_timer_stop(&box_->handle);
}

Async::Async(Loop& loop, std::function<void()> callback) : box_(new detail::Box<uv_async_t, std::function<void()>>{}) {
  box_->callback = std::move(callback);
  box_->handle.data = box_.get();
  must(uv_async_init(loop.raw(), &box_->handle,
                     [](uv_async_t* handle) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); }),
       "uv_async_init");
}

void Async::send() {
  uv_async_send(&box_->handle);
}

Signal::Signal(Loop& loop, int number, std::function<void()> callback)
    : box_(new detail::Box<uv_signal_t, std::function<void()>>{}) {
  box_->callback = std::move(callback);
  uv_signal_init(loop.raw(), &box_->handle);
  box_->handle.data = box_.get();
  must(uv_signal_start(
           &box_->handle,
           [](uv_signal_t* handle, int) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); }, number),
       "uv_signal_start");
}

Idle::Idle(Loop& loop, std::function<void()> callback) : box_(new detail::Box<uv_idle_t, std::function<void()>>{}) {
  box_->callback = std::move(callback);
  uv_idle_init(loop.raw(), &box_->handle);
  box_->handle.data = box_.get();
}

void Idle::start() {
  uv_idle_start(&box_->handle,
                [](uv_idle_t* handle) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); });
}

void Idle::stop() {
  uv_idle_stop(&box_->handle);
}

Poll::Poll(Loop& loop, int fd, Callback callback) : box_(new detail::Box<uv_poll_t, Callback>{}) {
  box_->callback = std::move(callback);
  must(uv_poll_init(loop.raw(), &box_->handle, fd), "uv_poll_init");
  box_->handle.data = box_.get();
}

void Poll::start(int events) {
  uv_poll_start(&box_->handle, events, [](uv_poll_t* handle, int status, int seen) {
    callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(status, seen);
  });
}

void Poll::stop() {
  uv_poll_stop(&box_->handle);
}

// A request that is under way on the pool cannot be taken back, so it owns itself until it ends; the owner only mutes
// it.
struct Resolve::Request {
  uv_getaddrinfo_t raw{};
  std::string host;
  std::uint16_t port = 0;
  Callback callback;
  bool finished = false;
  bool muted = false;

  static void done(uv_getaddrinfo_t* raw, int status, addrinfo* list) {
    auto* self = static_cast<Request*>(raw->data);
    self->finished = true;
    if (self->muted) {
      uv_freeaddrinfo(list);
      delete self;
      return;
    }
    // The callback may end its owner, and with it this request.
    auto answer = self->answer(status, list);
    const Callback callback = std::move(self->callback);
    callback(std::move(answer));
  }

  [[nodiscard]] Result<std::vector<SocketAddress>> answer(int status, addrinfo* list) const {
    std::vector<SocketAddress> found;
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
      SocketAddress address = SocketAddress::from(entry->ai_addr, entry->ai_addrlen);
      address.port = port;
      if (address.is_ip() && std::ranges::find(found, address) == found.end()) found.push_back(address);
    }
    uv_freeaddrinfo(list);
    if (status != 0) return fail(0, "cannot resolve {}: {}", host, uv_strerror(status));
    if (found.empty()) return fail(0, "cannot resolve {}: no addresses", host);
    return found;
  }
};

void Resolve::Canceller::operator()(Request* request) const {
  if (request->finished) {
    delete request;
    return;
  }
  request->muted = true;
  uv_cancel(reinterpret_cast<uv_req_t*>(&request->raw));
}

Resolve::Resolve(Loop& loop, std::string host, std::uint16_t port, Callback callback) : request_(new Request{}) {
  request_->host = std::move(host);
  request_->port = port;
  request_->callback = std::move(callback);
  request_->raw.data = request_.get();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  const int status =
      uv_getaddrinfo(loop.raw(), &request_->raw, &Request::done, request_->host.c_str(), nullptr, &hints);
  if (status != 0) {
    request_->finished = true;
    throw std::runtime_error(fmt::format("uv_getaddrinfo: {}", uv_strerror(status)));
  }
}

Resolve::Resolve(Resolve&&) noexcept = default;
Resolve& Resolve::operator=(Resolve&&) noexcept = default;
Resolve::~Resolve() = default;

}  // namespace ravelin::sys
