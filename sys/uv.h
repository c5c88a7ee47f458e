// Owners for libuv's handles. uv_close(3) is asynchronous: the memory of a handle may be freed only in its close
// callback. That is hidden here and known nowhere else; everything else just lets its owner go out of scope.
//
// All of it belongs to the thread that runs the loop, except Async::send.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sys/address.h"
#include "sys/result.h"

namespace ravelin::sys {

class Loop {
 public:
  Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();  // runs the close callbacks that are due; every owner must be gone

  void run() { uv_run(&loop_, UV_RUN_DEFAULT); }
  // For a thread that sleeps elsewhere, on descriptor() among others: how many milliseconds it may, -1 for as long as
  // nothing comes; and then what is due, without any wait.
  [[nodiscard]] int patience();
  void run_due() { uv_run(&loop_, UV_RUN_NOWAIT); }
  [[nodiscard]] int descriptor() { return uv_backend_fd(&loop_); }
  // Ends run() after the current round; from the loop's own thread.
  void stop() { uv_stop(&loop_); }
  [[nodiscard]] uv_loop_t* raw() { return &loop_; }

 private:
  uv_loop_t loop_{};
};

namespace detail {

template <class Handle, class Callback>
struct Box {
  Handle handle{};
  Callback callback;
};

struct BoxCloser {
  template <class Handle, class Callback>
  void operator()(Box<Handle, Callback>* box) const {
    box->handle.data = box;
    uv_close(reinterpret_cast<uv_handle_t*>(&box->handle),
             [](uv_handle_t* handle) { delete static_cast<Box<Handle, Callback>*>(handle->data); });
  }
};

template <class Handle, class Callback>
using Owned = std::unique_ptr<Box<Handle, Callback>, BoxCloser>;

}  // namespace detail

class Timer {
 public:
  Timer(Loop& loop, std::function<void()> callback);
  // Fires once after `delay`, or again every `repeat` if that is not zero. Starting anew replaces what was set.
  void start(std::chrono::milliseconds delay, std::chrono::milliseconds repeat = {});
  void stop();

 private:
  detail::Owned<uv_timer_t, std::function<void()>> box_;
};

class Async {
 public:
  Async(Loop& loop, std::function<void()> callback);
  void send();  // any thread; several sends may become one call

 private:
  detail::Owned<uv_async_t, std::function<void()>> box_;
};

class Signal {
 public:
  Signal(Loop& loop, int number, std::function<void()> callback);

 private:
  detail::Owned<uv_signal_t, std::function<void()>> box_;
};

// Watches one descriptor that it does not own, level-triggered. The descriptor must outlive it.
class Poll {
 public:
  // `status` is 0 or a negative UV_ error; `events` are UV_READABLE and so on.
  using Callback = std::function<void(int status, int events)>;
  Poll(Loop& loop, int fd, Callback callback);
  void start(int events);
  void stop();

 private:
  detail::Owned<uv_poll_t, Callback> box_;
};

// Resolves a name with the system's resolver, on a thread of its own: getaddrinfo(3) can neither be cut short nor, in
// libuv's pool, be left alone at the end of the program, and a name that hangs must hold up neither others nor the
// exit.
class Resolve {
 public:
  // The addresses with the port asked for, in the resolver's order without repetition; or why there are none. Called on
  // the loop's thread; may end its own Resolve.
  using Callback = std::function<void(Result<std::vector<SocketAddress>>)>;
  Resolve(Loop& loop, std::string host, std::uint16_t port, Callback callback);
  Resolve(const Resolve&) = delete;
  Resolve& operator=(const Resolve&) = delete;
  ~Resolve();  // the callback is not called any more

 private:
  struct Question;
  void deliver();

  Callback callback_;
  std::shared_ptr<Question> question_;  // shared with the thread, which may outlive this
  Async answered_;
};

}  // namespace ravelin::sys
