// Takes the header off a stream whose bytes are read (not peeked): it keeps what it was fed until the decision, then
// tells what of it belongs to the next layer. One per connection, in one thread; no I/O, no clock, no allocation.
//
//   ppv2::Sniffer sniffer({.policy = ppv2::Policy::sniff}, trusted.contains(peer));
//   while (true) {
//     const ssize_t n = recv(fd, chunk, sizeof chunk, 0);
//     const ppv2::Step step = n > 0 ? sniffer.feed({chunk, n}) : sniffer.on_eof();
//     if (step.action == ppv2::Action::wait) continue;
//     if (step.action == ppv2::Action::reject) return close(fd);
//     serve(sniffer.claim(), sniffer.pushback(), {chunk + step.consumed, n - step.consumed});
//     break;
//   }
//
// A stream has one header: after the decision the sniffer takes nothing more, and a second header is payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ppv2/decoder.h"
#include "ppv2/export.h"
#include "ppv2/policy.h"

namespace ppv2 {

// What feed(), on_timeout() and on_eof() say.
struct Step {
  Action action = Action::wait;  // what to do now; everything but wait is final
  Reason reason = Reason::none;  // reject
  Kind kind = Kind::none;        // accept, pass: what follows, on the bytes seen
  std::uint32_t consumed =
      0;  // of the bytes fed in this call; the rest are still the caller's, and come after pushback()
  std::uint32_t offset = 0;  // reject: the byte at fault, from the start of the stream
};

// One connection's search for a header.
class Sniffer {
 public:
  // Enough for every header without large fields, and an IPv4 packet that is never fragmented (section 2.2).
  static constexpr std::size_t kInlineSize = 536;

  // `overflow`, the caller's and alive as long as the sniffer, is used by headers longer than kInlineSize. Without it
  // they are refused as too long; with it the limit is what options.max_header allows and `overflow` holds.
  PPV2_EXPORT Sniffer(Rules rules, bool trusted_source, const DecodeOptions& options = {},
                      std::span<std::byte> overflow = {}) noexcept;
  // It points into itself, so it stays where it is.
  Sniffer(const Sniffer&) = delete;
  Sniffer& operator=(const Sniffer&) = delete;

  // The next bytes of the stream, in any pieces. Keeps what it may need, so the caller's buffer is free afterwards.
  // After the decision it consumes nothing and says the same again.
  [[nodiscard]] PPV2_EXPORT Step feed(Bytes bytes) noexcept;
  // A deadline of the caller's clock, counted from accept, has passed; never says wait. Of two deadlines, call it at
  // the shorter one only while nothing was fed: silence passes under `sniff`, and half a header never does.
  [[nodiscard]] PPV2_EXPORT Step on_timeout() noexcept;
  // The peer sends no more; never says wait.
  [[nodiscard]] PPV2_EXPORT Step on_eof() noexcept;

  // What must go to the next layer before anything else: the bytes kept, less the header. Nothing before the decision.
  [[nodiscard]] PPV2_EXPORT Bytes pushback() const noexcept;
  // Null without an accepted header. It views the sniffer's bytes.
  [[nodiscard]] const Claim* claim() const noexcept {
    return verdict_.action == Action::accept ? &decoded_.claim : nullptr;
  }
  // Whether that claim may stand for the measured address.
  [[nodiscard]] bool claim_trusted() const noexcept { return verdict_.trusted; }
  // The address to act on: the claim's only if its sender may make claims, and it has one.
  [[nodiscard]] const Address& effective(const Address& measured) const noexcept {
    return claim() != nullptr && claim_trusted() && decoded_.claim.source.is_ip() ? decoded_.claim.source : measured;
  }
  // The decision, or wait.
  [[nodiscard]] const Verdict& verdict() const noexcept { return verdict_; }
  // What the decision was made on; the claim in it counts only where claim() gives it.
  [[nodiscard]] const Decoded& decoded() const noexcept { return decoded_; }
  // Which signature was certain, also where the header was refused.
  [[nodiscard]] Version version() const noexcept { return decoded_.version; }

 private:
  [[nodiscard]] Step settle(Moment moment, std::size_t consumed) noexcept;
  // Takes as many of `bytes` as the decision may need, never more than are surely the header's where that can be known.
  [[nodiscard]] std::size_t keep(Bytes bytes) noexcept;

  Rules rules_;
  bool trusted_source_;
  DecodeOptions options_;
  std::span<std::byte> overflow_;
  std::byte* buffer_;
  std::size_t size_ = 0;
  Decoded decoded_;
  Verdict verdict_;
  std::byte inline_[kInlineSize];
};

}  // namespace ppv2
