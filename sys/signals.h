// Which signals a thread takes. The kernel gives a process's signal to any thread that does not block it, and a thread
// inherits the mask of the one that starts it. So helper threads are started with everything blocked, and the thread
// that handles signals admits them for exactly as long as its handlers stand: libuv gives a signal its default action
// back, which is death, when the last handle for it is closed.
#pragma once

#include <csignal>
#include <initializer_list>

namespace ravelin::sys {

// For good, in this thread and those it starts. What arrives is held until somebody admits it.
void block_signals(std::initializer_list<int> numbers);

// Lets signals through to this thread while it stands. To be declared after their handlers, so that it goes before
// them.
class SignalsAdmitted {
 public:
  SignalsAdmitted(std::initializer_list<int> numbers);
  SignalsAdmitted(const SignalsAdmitted&) = delete;
  SignalsAdmitted& operator=(const SignalsAdmitted&) = delete;
  ~SignalsAdmitted();

 private:
  sigset_t admitted_{};
};

// While threads are made that shall take none: neither a stop that is meant for another thread, nor SIGPIPE. The
// signals of a thread's own faults stay open, or nobody would hear what happened.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_{};
};

}  // namespace ravelin::sys
