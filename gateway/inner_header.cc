#include "gateway/inner_header.h"

#include <ppv2/encoder.h>
#include <ppv2/ravelin.h>

#include "bridge/addresses.h"
#include "gateway/session.h"

namespace ravelin::gateway {
namespace {

using bridge::to_ppv2;

std::size_t write_v1(const ppv2::Address& source, const ppv2::Address& destination, std::span<std::byte> out) {
  return ppv2::encode_v1({reinterpret_cast<char*>(out.data()), out.size()}, source, destination);
}

std::size_t write_v2(relay::SessionView session, const ppv2::Address& source, const ppv2::Address& destination,
                     std::span<std::byte> out) {
  const GatewaySession& kept = gateway_session(session);
  // A trusted edge that speaks for itself goes on doing so: the server's log stays as quiet as ours.
  auto header = kept.is_senders_own() && kept.trusted_source != 0 ? ppv2::Encoder::local(out)
                                                                  : ppv2::Encoder::proxy(out, source, destination);
  header.unique_id(session.record.id.text()).tlv(ppv2::kMeasuredTlv, session.record.client.text());
  if (kept.has_claim()) {
    header.tlv(ppv2::kClaimedTlv, kept.claimed.text());
    header.tlv(ppv2::kClaimTrustedTlv, kept.claim_trusted != 0 ? "1" : "0");
  }
  if (!kept.edge.view().empty()) header.tlv(ppv2::kEdgeNameTlv, kept.edge.view());
  if (!kept.edge_session.view().empty()) header.tlv(ppv2::kEdgeSessionTlv, kept.edge_session.view());
  return header.finish();
}

}  // namespace

std::size_t write_inner_header(InnerHeader form, relay::SessionView session, std::span<std::byte> out) {
  const GatewaySession& kept = gateway_session(session);
  const bool as_claimed = kept.has_claim() && kept.claim_trusted != 0;
  const ppv2::Address source = to_ppv2(effective(session));
  const ppv2::Address destination = to_ppv2(as_claimed ? kept.claimed_destination : session.record.local);
  switch (form) {
    case InnerHeader::none:
      return 0;
    case InnerHeader::v1:
      return write_v1(source, destination, out);
    case InnerHeader::v2:
      return write_v2(session, source, destination, out);
  }
  return 0;
}

}  // namespace ravelin::gateway
