#include "ppv2/counters.h"

namespace ppv2 {

void Counters::count(const Verdict& verdict, Version version, bool trusted_source) noexcept {
  Table* table = nullptr;
  switch (verdict.action) {
    case Action::wait:
      return;
    case Action::accept:
      table = &accepted_;
      break;
    case Action::pass:
      table = &passed_;
      break;
    case Action::reject:
      table = &rejected_;
      reasons_[static_cast<std::size_t>(verdict.reason)].fetch_add(1, std::memory_order_relaxed);
      break;
  }
  (*table)[static_cast<std::size_t>(version)][trusted_source ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace ppv2
