// What keeper and worker say to each other: one message a packet, the same shape for every kind, with the descriptors
// that it is about beside it. A contract between versions of the program: numbers are never given out twice, a kind
// that the reader does not know is skipped, and items may grow meanings but no fields.
//
//   worker ▶ keeper, on the control channel          keeper ▶ worker, on the control channel
//     hello      I have read my settings                begin     this is what there is: a table or nothing
//     table      my session table            + 1 fd     table, listener, pipes, sessions      (a batch each, + fds)
//     listener   a listening socket          + 1 fd     commit    all has been said, start
//     loop       a loop's channel            + 1 fd     signal    what the operator sent to the keeper
//     taken      one batch has arrived                  freeze    touch nothing any more, and end
//     running    I serve
//     notify     for the service manager               refused   nobody takes your place, because ...
//     closed     I accept no more
//     replace    let another worker take my place
//     draining   I end with my last session
//     settings   those in force          + 1 fd
//   a dead worker's heir ▶ keeper, there            worker ▶ keeper, on a loop's channel
//     pipes      what there was              + fds      beat      this loop turns
//     sessions   what there was              + fds
//     newcomers  what was accepted and not begun     (keeper ▶ worker too)
//
// Pure: no system call is made here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::relay {

// How often a loop says that it turns. Keepers of every version wait for ten seconds at the least; each beat wakes two
// threads of a program that is otherwise at rest.
constexpr std::chrono::seconds kBeat{4};

enum class KeeperKind : std::uint16_t {
  hello = 1,     // item: {protocol, table layout, extension bytes}
  table = 2,     // item: {table layout, extension bytes, slots}, {pipes}
  listener = 3,  // item: {number, numbering: see ListenerNumber}; text: its key
  loop = 4,      // item: {loop}
  taken = 5,
  running = 6,  // item: {sessions taken over, sessions lost}
  notify = 7,   // text
  begin = 8,    // items: {HandOverCause, signal or exit code, 1: a service manager watches the keeper}, {1: draining}
  commit = 9,
  signal = 10,  // item: {number}
  freeze = 11,
  sessions = 12,  // items: {slot, generation, how many descriptors}
  pipes = 13,     // items: {index, how many descriptors}
  beat = 14,
  worker = 15,     // in a keeper's own state alone. items: {pid, log format, log level}, what it said in hello
  closed = 16,     // the listeners, for good
  newcomers = 17,  // items: {1}, each with a descriptor: streams that no session is named for
  replace = 18,    // item: {HandOverCause: upgrade or reload, how many of the listeners named last are for the next}
  refused = 19,    // item: {wishes}; text: why
  draining = 20,   // by the admin socket's word; in a keeper's state by whosever: items: {1: TERM has come}
  settings = 21,   // the settings in force, as a file that a later worker can start with if that on disk is broken
};

// Why a worker takes over.
enum class HandOverCause : std::uint32_t {
  fresh = 0,    // nothing was there before
  upgrade = 1,  // the one before has frozen and gone
  killed = 2,   // by a signal that says nothing about what it did, SIGKILL for one
  crashed = 3,  // by a signal that its own instructions raised, or it hung
  exited = 4,   // by itself, without being asked to
  keeper_lost = 5,
  reload = 6,  // the same program with new settings
};

// As one bit: several wishes may be granted or refused together.
[[nodiscard]] constexpr std::uint32_t wish(HandOverCause cause) {
  return 1U << static_cast<std::uint32_t>(cause);
}

struct KeeperItem {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  bool operator==(const KeeperItem&) const = default;
};

inline constexpr std::uint32_t kKeeperProtocol = 1;
inline constexpr std::size_t kMostItems = 1024;
inline constexpr std::size_t kMostText = 512;
// unix(7): one message carries at most SCM_MAX_FD descriptors.
inline constexpr std::size_t kMostDescriptors = 253;

// A message without its descriptors. What is decoded borrows nothing.
struct KeeperMessage {
  KeeperKind kind = KeeperKind::beat;
  std::vector<KeeperItem> items;
  std::string text;

  // The first item, or zeros where there is none.
  [[nodiscard]] KeeperItem head() const { return items.empty() ? KeeperItem{} : items.front(); }
};

inline constexpr std::size_t kMostMessageBytes = 8 + kMostItems * sizeof(KeeperItem) + kMostText;

// Replaces `out`.
void encode(const KeeperMessage& message, std::vector<std::byte>& out);
// Nothing: not a message.
[[nodiscard]] std::optional<KeeperMessage> decode(std::span<const std::byte> bytes);

// False for one of a later version, which says more than this one needs.
[[nodiscard]] bool is_known(KeeperKind kind);

// How many descriptors must come with a message of a known kind; the reader refuses one with fewer or more.
[[nodiscard]] std::size_t descriptors_of(const KeeperMessage& message);

}  // namespace ravelin::relay
