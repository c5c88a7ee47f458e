// The C ABI with structs of every size and streams in pieces: nothing behind what the caller sized is touched.
#include <ppv2/ppv2.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::size_t struct_size = std::max<std::size_t>(sizeof(std::size_t), data[0] % (sizeof(ppv2_decoded) + 1));
  const std::size_t piece = 1 + data[1] % 64;
  const int policy = data[2] % 4;
  const int untrusted = data[2] / 4 % 4;
  const int trusted = data[3] % 2;
  data += 4;
  size -= 4;

  // On the heap, exactly as large as the caller says.
  const std::unique_ptr<char[]> memory(new char[struct_size]);
  std::memcpy(memory.get(), &struct_size, sizeof struct_size);
  const int outcome = ppv2_decode(data, size, nullptr, reinterpret_cast<ppv2_decoded*>(memory.get()));

  ppv2_decoded decoded{};
  decoded.struct_size = sizeof decoded;
  check(ppv2_decode(data, size, nullptr, &decoded) == outcome && decoded.outcome == outcome);
  check(ppv2_reason_text(decoded.reason)[0] != '\0');
  ppv2_tlv tlv;
  for (std::size_t position = 0; ppv2_tlv_next(decoded.tlvs, decoded.tlvs_size, &position, &tlv) != 0;)
    check(position <= decoded.tlvs_size);
  // The same walk over bytes that nobody has validated.
  for (std::size_t position = 0; ppv2_tlv_next(data, size, &position, &tlv) != 0;) check(position <= size);

  ppv2_ssl ssl{};
  ssl.struct_size = sizeof ssl;
  if (ppv2_ssl_find(data, size, &ssl) != 0) {
    check(ssl.tlvs_size <= size);
    check(ssl.verified == 0 || (ssl.verify == 0 && (ssl.client & 6) != 0));
  }

  alignas(std::max_align_t) unsigned char state[1024];
  unsigned char overflow[2048];
  ppv2_sniffer* const sniffer =
      ppv2_sniffer_init(state, sizeof state, policy, untrusted, trusted, nullptr, overflow, sizeof overflow);
  check(sniffer != nullptr);
  ppv2_step step{};
  step.struct_size = sizeof step;
  std::size_t fed = 0;
  while (fed < size && step.action == PPV2_WAIT) {
    ppv2_sniffer_feed(sniffer, data + fed, std::min(piece, size - fed), &step);
    check(step.consumed <= std::min(piece, size - fed));
    fed += step.consumed;
  }
  if (step.action == PPV2_WAIT) ppv2_sniffer_timeout(sniffer, &step);
  check(step.action != PPV2_WAIT);
  std::size_t kept = 0;
  const void* const back = ppv2_sniffer_pushback(sniffer, &kept);
  check(kept <= fed);
  if (step.action == PPV2_END) check(kept == 0);
  if (kept != 0) check(std::memcmp(back, data + fed - kept, kept) == 0);
  if (ppv2_sniffer_claim(sniffer, &decoded) != 0)
    check(step.action == PPV2_ACCEPT && decoded.header_length + kept == fed);
  return 0;
}
