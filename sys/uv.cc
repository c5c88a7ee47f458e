#include "sys/uv.h"

#include <netdb.h>

#include <algorithm>
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sys/signals.h"

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

int Loop::patience() {
  uv_update_time(&loop_);
  return uv_backend_timeout(&loop_);
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

// Where making the handle can fail it is owned only afterwards: one that was not made cannot be closed.
Async::Async(Loop& loop, std::function<void()> callback) {
  auto box = std::make_unique<detail::Box<uv_async_t, std::function<void()>>>();
  box->callback = std::move(callback);
  box->handle.data = box.get();
  must(uv_async_init(loop.raw(), &box->handle,
                     [](uv_async_t* handle) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); }),
       "uv_async_init");
  box_.reset(box.release());
}

void Async::send() {
  uv_async_send(&box_->handle);
}

Signal::Signal(Loop& loop, int number, std::function<void()> callback) {
  auto box = std::make_unique<detail::Box<uv_signal_t, std::function<void()>>>();
  box->callback = std::move(callback);
  must(uv_signal_init(loop.raw(), &box->handle), "uv_signal_init");
  box->handle.data = box.get();
  box_.reset(box.release());
  must(uv_signal_start(
           &box_->handle,
           [](uv_signal_t* handle, int) { callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(); }, number),
       "uv_signal_start");
}

Poll::Poll(Loop& loop, int fd, Callback callback) {
  auto box = std::make_unique<detail::Box<uv_poll_t, Callback>>();
  box->callback = std::move(callback);
  must(uv_poll_init(loop.raw(), &box->handle, fd), "uv_poll_init");
  box->handle.data = box.get();
  box_.reset(box.release());
}

void Poll::start(int events) {
  uv_poll_start(&box_->handle, events, [](uv_poll_t* handle, int status, int seen) {
    callback_of<std::remove_reference_t<decltype(*box_)>>(handle)(status, seen);
  });
}

void Poll::stop() {
  uv_poll_stop(&box_->handle);
}

struct Resolve::Question {
  std::string host;
  std::uint16_t port = 0;
  std::mutex mutex;        // guards the two below
  Async* asker = nullptr;  // null: nobody waits any more
  Result<std::vector<SocketAddress>> answer;

  // Blocks for as long as the resolver does.
  void ask() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* list = nullptr;
    const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
    std::vector<SocketAddress> found;
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
      SocketAddress address = SocketAddress::from(entry->ai_addr, entry->ai_addrlen);
      address.port = port;
      if (address.is_ip() && std::ranges::find(found, address) == found.end()) found.push_back(address);
    }
    if (list != nullptr) ::freeaddrinfo(list);
    const std::scoped_lock lock(mutex);
    if (status != 0) {
      answer = fail(0, "cannot resolve {}: {}", host, ::gai_strerror(status));
    } else if (found.empty()) {
      answer = fail(0, "cannot resolve {}: no addresses", host);
    } else {
      answer = std::move(found);
    }
    if (asker != nullptr) asker->send();
  }
};

Resolve::Resolve(Loop& loop, std::string host, std::uint16_t port, Callback callback)
    : callback_(std::move(callback)), question_(std::make_shared<Question>()), answered_(loop, [this] { deliver(); }) {
  question_->host = std::move(host);
  question_->port = port;
  question_->asker = &answered_;
  try {
    const SignalsBlocked blocked;
    std::thread([question = question_] { question->ask(); }).detach();
  } catch (const std::system_error& error) {
    question_->answer = fail(error.code().value(), "cannot start a thread to resolve {}", question_->host);
    answered_.send();
  }
}

Resolve::~Resolve() {
  const std::scoped_lock lock(question_->mutex);
  question_->asker = nullptr;
}

void Resolve::deliver() {
  Result<std::vector<SocketAddress>> answer;
  {
    const std::scoped_lock lock(question_->mutex);
    answer = std::move(question_->answer);
  }
  const Callback callback = std::move(callback_);  // the callback may end this
  callback(std::move(answer));
}

}  // namespace ravelin::sys
