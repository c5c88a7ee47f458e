// The PROXY v2 header that goes in front of a session: who the client is and which address it came to, both as the
// edge's own socket shows them; the session's id, and the edge's name. A pure function, any thread.
//
// A client without an address (it came over a Unix socket) gets a LOCAL header: the edge claims nothing for it. PROXY
// with the family UNSPEC would say it better, but HAProxy and others reset such connections; what tells the session
// from a health check is that the edge gives its name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "relay/session_record.h"

namespace ravelin::redirector {

struct HeaderSettings {
  bool unique_id = true;
  bool edge_name = true;
  bool crc32c = false;
  bool operator==(const HeaderSettings&) const = default;
};

// Returns the header's size. kMaxHeader of relay/policy.h is always enough.
[[nodiscard]] std::size_t write_header(std::span<std::byte> out, const relay::SessionRecord& record,
                                       const HeaderSettings& settings, std::string_view edge_name);

}  // namespace ravelin::redirector
