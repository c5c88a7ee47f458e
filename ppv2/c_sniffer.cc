// The C ABI of the sniffer.
#include <new>

#include "ppv2/c_structs.h"
#include "ppv2/sniffer.h"

using namespace ppv2;

// A Sniffer in the caller's memory. It owns nothing, so it needs no end.
struct ppv2_sniffer {
  Sniffer sniffer;
};

namespace {

static_assert(PPV2_WAIT == static_cast<int>(Action::wait) && PPV2_ACCEPT == static_cast<int>(Action::accept) &&
              PPV2_PASS == static_cast<int>(Action::pass) && PPV2_END == static_cast<int>(Action::reject));
static_assert(std::is_trivially_destructible_v<Sniffer>);

int give_step(const Step& step, ppv2_step* out) noexcept {
  ppv2_step result{};
  result.action = static_cast<int32_t>(step.action);
  result.reason = static_cast<int32_t>(step.reason);
  result.kind = static_cast<int32_t>(step.kind);
  result.consumed = step.consumed;
  result.offset = step.offset;
  give_struct(result, out);
  return result.action;
}

// What is no known value is read as the strictest one.
Rules rules_of(int policy, int untrusted) noexcept {
  Rules rules;
  if (policy == PPV2_POLICY_REJECT) rules.policy = Policy::reject;
  if (policy == PPV2_POLICY_SNIFF) rules.policy = Policy::sniff;
  if (untrusted == PPV2_UNTRUSTED_MARK) rules.untrusted = Untrusted::mark;
  if (untrusted == PPV2_UNTRUSTED_PASS) rules.untrusted = Untrusted::pass;
  return rules;
}

}  // namespace

extern "C" {

size_t ppv2_sniffer_size(void) {
  return sizeof(ppv2_sniffer);
}

ppv2_sniffer* ppv2_sniffer_init(void* memory, size_t size, int policy, int untrusted, int trusted_source,
                                const ppv2_options* options, void* overflow, size_t overflow_size) {
  if (memory == nullptr || size < sizeof(ppv2_sniffer)) return nullptr;
  const std::span<std::byte> more{static_cast<std::byte*>(overflow), overflow == nullptr ? 0 : overflow_size};
  return new (memory) ppv2_sniffer{{rules_of(policy, untrusted), trusted_source != 0, to_cpp(options), more}};
}

int ppv2_sniffer_feed(ppv2_sniffer* sniffer, const void* bytes, size_t size, ppv2_step* step) {
  return give_step(sniffer->sniffer.feed(to_bytes(bytes, size)), step);
}
int ppv2_sniffer_timeout(ppv2_sniffer* sniffer, ppv2_step* step) {
  return give_step(sniffer->sniffer.on_timeout(), step);
}
int ppv2_sniffer_eof(ppv2_sniffer* sniffer, ppv2_step* step) {
  return give_step(sniffer->sniffer.on_eof(), step);
}

const void* ppv2_sniffer_pushback(const ppv2_sniffer* sniffer, size_t* size) {
  const Bytes bytes = sniffer->sniffer.pushback();
  *size = bytes.size();
  return bytes.data();
}

int ppv2_sniffer_claim(const ppv2_sniffer* sniffer, ppv2_decoded* out) {
  if (sniffer->sniffer.claim() == nullptr) return 0;
  ppv2_decoded result = to_c(sniffer->sniffer.decoded());
  result.trusted = sniffer->sniffer.claim_trusted() ? 1 : 0;
  give_struct(result, out);
  return 1;
}

}  // extern "C"
