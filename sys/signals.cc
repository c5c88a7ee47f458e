#include "sys/signals.h"

#include <pthread.h>

namespace ravelin::sys {
namespace {

constexpr std::initializer_list<int> kFaults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) ::sigaddset(&set, number);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> numbers) {
  const sigset_t set = set_of(numbers);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalsAdmitted::SignalsAdmitted(std::initializer_list<int> numbers) : admitted_(set_of(numbers)) {
  ::pthread_sigmask(SIG_UNBLOCK, &admitted_, nullptr);
}

SignalsAdmitted::~SignalsAdmitted() {
  ::pthread_sigmask(SIG_BLOCK, &admitted_, nullptr);
}

SignalsBlocked::SignalsBlocked() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int number : kFaults) ::sigdelset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace ravelin::sys
