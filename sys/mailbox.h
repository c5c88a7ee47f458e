// Tasks for a loop's thread, posted from any thread, run in order. Tasks that are still waiting when the mailbox goes
// are dropped.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "sys/uv.h"

namespace ravelin::sys {

class Mailbox {
 public:
  explicit Mailbox(Loop& loop) : async_(loop, [this] { run(); }) {}

  // Any thread.
  void post(std::function<void()> task) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    async_.send();
  }

 private:
  void run() {
    std::vector<std::function<void()>> tasks;
    {
      const std::scoped_lock lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
  }

  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  Async async_;
};

}  // namespace ravelin::sys
