#include "ppv2/sniffer.h"

#include <algorithm>
#include <cstring>

namespace ppv2 {

Sniffer::Sniffer(Rules rules, bool trusted_source, const DecodeOptions& options, std::span<std::byte> overflow) noexcept
    : rules_(rules), trusted_source_(trusted_source), options_(options), overflow_(overflow), buffer_(inline_) {
  const std::size_t room = std::max(kInlineSize, overflow.size());
  options_.max_header = static_cast<std::uint32_t>(std::min<std::size_t>(options.max_header, room));
  verdict_ = decide_unread(rules, trusted_source);
}

std::size_t Sniffer::keep(Bytes bytes) noexcept {
  const std::size_t room = buffer_ == inline_ ? kInlineSize : overflow_.size();
  const std::size_t count = std::min(bytes.size(), room - size_);
  if (count != 0) std::memcpy(buffer_ + size_, bytes.data(), count);
  size_ += count;
  return count;
}

Step Sniffer::feed(Bytes bytes) noexcept {
  if (verdict_.action != Action::wait) return settle(Moment::bytes, 0);
  std::size_t consumed = keep(bytes);
  Step step = settle(Moment::bytes, consumed);
  // A header longer than the inline buffer moves once, when its length is known: the limit makes sure that it fits.
  if (step.action == Action::wait && consumed != bytes.size() && buffer_ == inline_ && overflow_.size() > size_) {
    std::memcpy(overflow_.data(), inline_, size_);
    buffer_ = overflow_.data();
    consumed += keep(bytes.subspan(consumed));
    step = settle(Moment::bytes, consumed);
  }
  return step;
}

Step Sniffer::on_timeout() noexcept {
  return settle(Moment::timeout, 0);
}
Step Sniffer::on_eof() noexcept {
  return settle(Moment::eof, 0);
}

Step Sniffer::settle(Moment moment, std::size_t consumed) noexcept {
  const bool fresh = verdict_.action == Action::wait;
  if (fresh) {
    decoded_ = decode({buffer_, size_}, options_);
    verdict_ = decide(rules_, trusted_source_, decoded_, moment);
  }
  Step step{verdict_.action, verdict_.reason, decoded_.kind, static_cast<std::uint32_t>(consumed), 0};
  if (step.action == Action::reject && decoded_.outcome == Outcome::reject) step.offset = decoded_.offset;
  if (step.action == Action::pass) step.kind = classify({buffer_, size_});
  return step;
}

Bytes Sniffer::pushback() const noexcept {
  switch (verdict_.action) {
    case Action::accept:
      return {buffer_ + decoded_.header_length, size_ - decoded_.header_length};
    case Action::pass:
      return {buffer_, size_};
    case Action::wait:
    case Action::reject:
      break;
  }
  return {};
}

}  // namespace ppv2
