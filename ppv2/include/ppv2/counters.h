// What became of connections, by version and by whether their source is trusted: so that an operator sees when
// `require` is safe, who sends what, and what is refused for which reason. Any thread may count and read. No
// allocation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ppv2/decoder.h"
#include "ppv2/export.h"
#include "ppv2/policy.h"

namespace ppv2 {

// One for a listener, say. It never fails and never waits; a count wraps after 2^64.
class Counters {
 public:
  // One connection whose verdict has fallen; a verdict that waits counts nothing.
  PPV2_EXPORT void count(const Verdict& verdict, Version version, bool trusted_source) noexcept;

  // Connections whose header was taken off.
  [[nodiscard]] std::uint64_t accepted(Version version, bool trusted_source) const noexcept {
    return get(accepted_, version, trusted_source);
  }
  // Connections that went on untouched.
  // `passed(Version::none, true)`: trusted sources without a header, which under `sniff` let their clients claim for
  // them.
  [[nodiscard]] std::uint64_t passed(Version version, bool trusted_source) const noexcept {
    return get(passed_, version, trusted_source);
  }
  // Connections that were ended; Version::none where no signature was certain.
  [[nodiscard]] std::uint64_t rejected(Version version, bool trusted_source) const noexcept {
    return get(rejected_, version, trusted_source);
  }
  // The same, of both versions, by reason.
  [[nodiscard]] std::uint64_t rejected_for(Reason reason) const noexcept {
    return reasons_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

 private:
  using Count = std::atomic<std::uint64_t>;
  using Table = std::array<std::array<Count, 2>, 3>;  // by version, by trusted

  [[nodiscard]] static std::uint64_t get(const Table& table, Version version, bool trusted_source) noexcept {
    return table[static_cast<std::size_t>(version)][trusted_source ? 1 : 0].load(std::memory_order_relaxed);
  }

  Table accepted_{};
  Table passed_{};
  Table rejected_{};
  std::array<Count, kReasonCount> reasons_{};
};

}  // namespace ppv2
