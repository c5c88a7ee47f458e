#include "sys/signals.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

using namespace ravelin::sys;

namespace {

bool is_blocked(int number) {
  sigset_t mask;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return ::sigismember(&mask, number) == 1;
}

}  // namespace

TEST_CASE("threads that are made to take no signal still hear of their own faults") {
  {
    const SignalsBlocked blocked;
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1}) CHECK(is_blocked(number));
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) CHECK_FALSE(is_blocked(number));
  }
  CHECK_FALSE(is_blocked(SIGTERM));
}

TEST_CASE("a signal that comes while nobody admits it waits") {
  static volatile std::sig_atomic_t seen = 0;
  block_signals({SIGUSR2});
  std::signal(SIGUSR2, [](int) { seen = seen + 1; });
  ::kill(::getpid(), SIGUSR2);
  CHECK(seen == 0);
  {
    const SignalsAdmitted admitted({SIGUSR2});
    CHECK(seen == 1);
  }
  CHECK(is_blocked(SIGUSR2));
  std::signal(SIGUSR2, SIG_IGN);
}
