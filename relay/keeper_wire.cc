#include "relay/keeper_wire.h"

#include <cassert>
#include <cstring>

namespace ravelin::relay {
namespace {

struct Head {
  std::uint16_t kind = 0;
  std::uint16_t text_bytes = 0;
  std::uint32_t items = 0;
};
static_assert(sizeof(Head) == 8);
static_assert(sizeof(KeeperItem) == 12);

// Sessions and pipes come with as many as their items say.
std::size_t sum(const KeeperMessage& message, std::uint32_t KeeperItem::*count) {
  std::size_t total = 0;
  for (const KeeperItem& item : message.items) total += item.*count;
  return total;
}

}  // namespace

void encode(const KeeperMessage& message, std::vector<std::byte>& out) {
  assert(message.items.size() <= kMostItems && message.text.size() <= kMostText);
  const Head head{.kind = static_cast<std::uint16_t>(message.kind),
                  .text_bytes = static_cast<std::uint16_t>(message.text.size()),
                  .items = static_cast<std::uint32_t>(message.items.size())};
  const std::size_t item_bytes = message.items.size() * sizeof(KeeperItem);
  out.resize(sizeof head + item_bytes + message.text.size());
  std::memcpy(out.data(), &head, sizeof head);
  if (item_bytes > 0) std::memcpy(out.data() + sizeof head, message.items.data(), item_bytes);
  if (!message.text.empty()) {
    std::memcpy(out.data() + sizeof head + item_bytes, message.text.data(), message.text.size());
  }
}

std::optional<KeeperMessage> decode(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.items > kMostItems || head.text_bytes > kMostText) return std::nullopt;
  const std::size_t item_bytes = head.items * sizeof(KeeperItem);
  if (bytes.size() != sizeof head + item_bytes + head.text_bytes) return std::nullopt;
  KeeperMessage message{.kind = static_cast<KeeperKind>(head.kind)};
  message.items.resize(head.items);
  if (item_bytes > 0) std::memcpy(message.items.data(), bytes.data() + sizeof head, item_bytes);
  const auto text = bytes.subspan(sizeof head + item_bytes);
  message.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return message;
}

bool is_known(KeeperKind kind) {
  return kind >= KeeperKind::hello && kind <= KeeperKind::settings;
}

std::size_t descriptors_of(const KeeperMessage& message) {
  switch (message.kind) {
    case KeeperKind::table:
    case KeeperKind::listener:
    case KeeperKind::loop:
    case KeeperKind::settings:
      return 1;
    case KeeperKind::sessions:
      return sum(message, &KeeperItem::c);
    case KeeperKind::pipes:
      return sum(message, &KeeperItem::b);
    case KeeperKind::newcomers:
      return sum(message, &KeeperItem::a);
    default:
      return 0;
  }
}

}  // namespace ravelin::relay
