// The C ABI of what decides on trust: ranges of addresses, and what a sender says of its client's certificate.
#include <cstring>

#include "ppv2/c_structs.h"
#include "ppv2/cidr.h"

using namespace ppv2;

static_assert(sizeof(ppv2_cidr) >= sizeof(Cidr));

extern "C" {

int ppv2_cidr_parse(const char* text, ppv2_cidr* out) {
  const auto cidr = Cidr::parse(text);
  if (!cidr) return 0;
  *out = {to_c(cidr->base), cidr->bits};
  return 1;
}

int ppv2_cidr_contains(const ppv2_cidr* cidr, const ppv2_address* address) {
  return Cidr{to_cpp(cidr->base), cidr->bits}.contains(to_cpp(*address)) ? 1 : 0;
}

int ppv2_ssl_find(const void* tlvs, size_t size, ppv2_ssl* out) {
  const auto view = TlvView::over(to_bytes(tlvs, size));
  const auto ssl = view ? view->ssl() : std::nullopt;
  if (!ssl) return 0;
  ppv2_ssl result{};
  result.tlvs = ssl->fields.bytes().data();
  result.tlvs_size = ssl->fields.bytes().size();
  result.verify = ssl->verify;
  result.client = ssl->client;
  result.is_tls = ssl->is_tls() ? 1 : 0;
  result.verified = ssl->verified() ? 1 : 0;
  give_struct(result, out);
  return 1;
}

}  // extern "C"
