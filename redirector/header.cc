#include "redirector/header.h"

#include <ppv2/encoder.h>
#include <ppv2/ravelin.h>

#include "bridge/addresses.h"

namespace ravelin::redirector {

using bridge::to_ppv2;

std::size_t write_header(std::span<std::byte> out, const relay::SessionRecord& record, const HeaderSettings& settings,
                         std::string_view edge_name) {
  const bool known = record.client.is_ip() && record.local.is_ip();
  ppv2::Encoder header =
      known ? ppv2::Encoder::proxy(out, to_ppv2(record.client), to_ppv2(record.local)) : ppv2::Encoder::local(out);
  if (settings.crc32c) header.crc32c();
  if (settings.unique_id) header.unique_id(record.id.text());
  if (settings.edge_name) header.tlv(ppv2::kEdgeNameTlv, edge_name);
  return header.finish();
}

}  // namespace ravelin::redirector
