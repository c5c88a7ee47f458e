// Looking a peer up by the text that gRPC has for it, ServerContext::peer().
#include <cstring>

#include "ppv2/hex.h"
#include "ppv2/peer_map.h"

namespace ppv2 {
namespace {

struct Scheme {
  std::string_view prefix;
  Family family;
  bool abstract;  // the name needs no mark; behind "unix:" it does, since a path may stand there
};
constexpr Scheme kSchemes[] = {{"ipv4:", Family::inet, false},
                               {"ipv6:", Family::inet6, false},
                               {"unix-abstract:", Family::unix_domain, true},
                               {"unix:", Family::unix_domain, false}};

// gRPC writes its peers as URIs, so brackets and NUL come percent-encoded.
std::size_t percent_decode(std::string_view text, char* out, std::size_t room) noexcept {
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (size == room) return 0;
    char c = text[i];
    if (c == '%' && text.size() - i > 2) {
      unsigned value = 0;
      for (const char digit : {text[i + 1], text[i + 2]}) {
        const unsigned nibble = lower_hex_digit(static_cast<unsigned char>(digit) | 0x20U);
        if (nibble == 16) return 0;
        value = value << 4 | nibble;
      }
      c = static_cast<char>(value);
      i += 2;
    }
    out[size++] = c;
  }
  return size;
}

}  // namespace

std::optional<Peer> PeerMap::find_grpc(std::string_view peer) const noexcept {
  char decoded[kAddressTextSize];
  for (const Scheme& scheme : kSchemes) {
    if (peer.size() < scheme.prefix.size() || std::memcmp(peer.data(), scheme.prefix.data(), scheme.prefix.size()) != 0)
      continue;
    peer.remove_prefix(scheme.prefix.size());
    const std::size_t size = percent_decode(peer, decoded + 1, sizeof decoded - 1);
    if (size == 0) return std::nullopt;
    std::string_view text{decoded + 1, size};
    if (scheme.family == Family::unix_domain) {
      const bool marked = text.front() == '@' || text.front() == '\0';
      if (!marked && !scheme.abstract) return std::nullopt;
      if (!marked) text = {decoded, size + 1};
      decoded[marked ? 1 : 0] = '@';
    }
    const auto key = Address::parse(text);
    if (!key || key->family != scheme.family) return std::nullopt;
    return find(*key);
  }
  return std::nullopt;
}

}  // namespace ppv2
