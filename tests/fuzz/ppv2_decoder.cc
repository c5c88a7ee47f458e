// Any bytes, any options: the decoder stays inside them and keeps its promises about prefixes and views.
#include <ppv2/decoder.h>
#include <ppv2/sniffer.h>

#include "tests/fuzz/check.h"

using namespace ppv2;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{reinterpret_cast<const std::byte*>(data), size};
  const Decoded decoded = decode(bytes);
  const bool lenient = size % 2 == 0;
  const DecodeOptions options{.max_header = 600, .v4_in_tcp6 = lenient, .crc = lenient ? Crc::ignore : Crc::required};
  (void)decode(bytes, options);

  if (decoded.outcome == Outcome::header) {
    check(decoded.header_length <= size && decoded.header_length >= 15);
    for (const Tlv tlv : decoded.claim.tlvs) {
      check(tlv.value.data() >= bytes.data());
      check(tlv.value.data() + tlv.value.size() <= bytes.data() + decoded.header_length);
    }
    if (const auto ssl = decoded.claim.tlvs.ssl())
      for (const Tlv tlv : ssl->fields)
        check(tlv.value.data() + tlv.value.size() <= bytes.data() + decoded.header_length);
    (void)decoded.claim.tlvs.aws_vpce_id();
    (void)decoded.claim.tlvs.azure_link_id();
    (void)decoded.claim.tlvs.gcp_psc_id();
    check(decode(bytes.first(decoded.header_length)).outcome == Outcome::header);
    check(decode(bytes.first(decoded.header_length - 1)).outcome == Outcome::need_more);
  }
  if (decoded.outcome == Outcome::reject) check(decoded.offset <= size && decoded.reason != Reason::none);
  if (decoded.outcome == Outcome::need_more) check(decoded.wanted > size);
  // A decision is the same with more bytes behind, and never later than its byte at fault.
  if (size != 0) {
    const Decoded before = decode(bytes.first(size - 1));
    check(before.outcome == Outcome::need_more || before.outcome == decoded.outcome);
    if (before.outcome == Outcome::reject) check(before.reason == decoded.reason && before.offset == decoded.offset);
  }

  // In two pieces it is what it is at once.
  std::byte overflow[4096];
  Sniffer sniffer({Policy::sniff}, true, {}, overflow);
  const std::size_t cut = size / 3;
  Step step = sniffer.feed(bytes.first(cut));
  if (step.action == Action::wait) step = sniffer.feed(bytes.subspan(cut));
  constexpr Action kActions[] = {Action::wait, Action::accept, Action::pass, Action::reject};
  check(step.action == kActions[static_cast<std::size_t>(decoded.outcome)]);
  return 0;
}
