// What a PeerMap is made of. Only peer_map.cc knows it: memory is plain zeroed bytes there, and every type here is
// valid when all its bytes are zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "ppv2/bytes.h"
#include "ppv2/peer_map.h"

namespace ppv2 {

inline constexpr std::size_t kLeafEntries = 256;
inline constexpr unsigned kNumberBits = 20;
inline constexpr std::size_t kSlotsInChunk = 64;
inline constexpr std::size_t kPeerWords = sizeof(Peer) / sizeof(std::uint64_t);
inline constexpr std::size_t kFixedWords = (offsetof(Peer, text) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

static_assert(std::is_trivially_copyable_v<Peer> && sizeof(Peer) % sizeof(std::uint64_t) == 0);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Where an address stands: a table for its host, and a number in it (the port, or the five hex digits). The host is
// kept as words, since every lookup compares it.
struct PeerMap::Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  Family family = Family::unspec;
  std::uint32_t number = 0;

  [[nodiscard]] bool same_host(const Key& other) const noexcept {
    return low == other.low && high == other.high && family == other.family;
  }
};

// One entry. `sequence` is odd while there is none or while it is being written, and each entry has its own even value,
// so it serves readers as a seqlock and guards as the generation. All else is atomic too, so that a reader who is
// overtaken reads stale words, never torn ones, and notices.
struct PeerMap::Slot {
  std::atomic<std::uint32_t> sequence;
  std::atomic<std::uint32_t> place;  // which key it stands under: space << kNumberBits | number
  Slot* next_free;
  std::atomic<std::uint64_t> words[kPeerWords];

  // The words that hold something: the text is at the end and seldom full.
  static std::size_t used_words(const Peer& peer) noexcept {
    const std::size_t text = std::min<std::size_t>(peer.unique_id_length + peer.edge_length, sizeof peer.text);
    return (offsetof(Peer, text) + text + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  }
  // The words are released one by one after the odd sequence, so whoever acquires one of them also sees that.
  void write(std::uint32_t new_place, const Peer& peer) noexcept {
    const auto* const from = reinterpret_cast<const char*>(&peer);
    const auto copy = [this, from](std::size_t begin, std::size_t end) {
#pragma GCC unroll 12
      for (std::size_t i = begin; i < end; ++i)
        words[i].store(load<std::uint64_t>(from + i * sizeof(std::uint64_t)), std::memory_order_release);
    };
    place.store(new_place, std::memory_order_release);
    copy(0, kFixedWords);
    copy(kFixedWords, used_words(peer));
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] bool read(std::uint32_t wanted_place, Peer& peer) const noexcept {
    const std::uint32_t before = sequence.load(std::memory_order_acquire);
    if ((before & 1) != 0 || place.load(std::memory_order_acquire) != wanted_place) return false;
    auto* const to = reinterpret_cast<char*>(&peer);
    const auto copy = [this, to](std::size_t begin, std::size_t end) {
#pragma GCC unroll 12
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t word = words[i].load(std::memory_order_acquire);
        std::memcpy(to + i * sizeof word, &word, sizeof word);
      }
    };
    // The fixed part tells how much text follows; what it tells may be torn, so it is bounded and judged afterwards.
    copy(0, kFixedWords);
    copy(kFixedWords, used_words(peer));
    return sequence.load(std::memory_order_relaxed) == before;
  }
  void retire() noexcept {
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
};

struct PeerMap::Chunk {
  Chunk* next;
  Slot slots[kSlotsInChunk];
};

struct PeerMap::Leaf {
  std::atomic<Slot*> entries[kLeafEntries];
};

// The numbers of one host, in leaves that are made when a number in them is first used.
struct PeerMap::Space {
  Key host;
  std::uint32_t index;
  std::size_t leaf_count;

  [[nodiscard]] std::atomic<Leaf*>& leaf(std::size_t number) const noexcept {
    return const_cast<std::atomic<Leaf*>*>(
        reinterpret_cast<const std::atomic<Leaf*>*>(this + 1))[number / kLeafEntries];
  }
  [[nodiscard]] std::uint32_t place(std::uint32_t number) const noexcept { return index << kNumberBits | number; }
};

}  // namespace ppv2
