#include "ppv2/peer_map.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "ppv2/bytes.h"
#include "ppv2/hex.h"

namespace ppv2 {
namespace {

constexpr std::size_t kLeafEntries = 256;
constexpr std::size_t kPorts = 65536;
constexpr std::size_t kUnixNames = 1U << 20;  // five hex digits
constexpr unsigned kNumberBits = 20;
constexpr std::size_t kSlotsInChunk = 64;
constexpr std::size_t kPeerWords = sizeof(Peer) / sizeof(std::uint64_t);
constexpr std::size_t kFixedWords = (offsetof(Peer, text) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
constexpr std::size_t kAutobindDigits = 5;
constexpr int kReadAttempts = 8;
constexpr int kSpins = 64;

static_assert(std::is_trivially_copyable_v<Peer> && sizeof(Peer) % sizeof(std::uint64_t) == 0);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// The kernel writes them in lower case ("%05x").
bool read_hex(const std::uint8_t* digits, std::uint32_t& number) noexcept {
  for (std::size_t i = 0; i < kAutobindDigits; ++i) {
    const unsigned digit = lower_hex_digit(digits[i]);
    if (digit == 16) return false;
    number = number << 4 | digit;
  }
  return true;
}

// Zeroed memory for a T with `extra` bytes behind it. Every T here is valid when all its bytes are zero.
template <typename T>
T* allocate(std::size_t extra = 0) noexcept {
  void* const memory = std::calloc(1, sizeof(T) + extra);
  return memory == nullptr ? nullptr : new (memory) T;
}

}  // namespace

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
    place.store(new_place, std::memory_order_release);
    for (std::size_t i = 0, count = used_words(peer); i < count; ++i)
      words[i].store(load<std::uint64_t>(from + i * sizeof(std::uint64_t)), std::memory_order_release);
    sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] bool read(std::uint32_t wanted_place, Peer& peer) const noexcept {
    const std::uint32_t before = sequence.load(std::memory_order_acquire);
    if ((before & 1) != 0 || place.load(std::memory_order_acquire) != wanted_place) return false;
    auto* const to = reinterpret_cast<char*>(&peer);
    const auto copy = [this, to](std::size_t begin, std::size_t end) {
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
  void retire() noexcept { sequence.store(sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
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

bool Peer::set_unique_id(std::string_view id) noexcept {
  if (id.size() > kUniqueIdMax) return false;
  std::memmove(text + id.size(), text + unique_id_length, edge_length);
  std::copy(id.begin(), id.end(), text);
  unique_id_length = static_cast<std::uint8_t>(id.size());
  return true;
}

bool Peer::set_edge(std::string_view name) noexcept {
  if (name.size() > kEdgeNameMax) return false;
  std::copy(name.begin(), name.end(), text + unique_id_length);
  edge_length = static_cast<std::uint8_t>(name.size());
  return true;
}

PeerMap::PeerMap() noexcept = default;

PeerMap::~PeerMap() {
  for (auto& held : spaces_) {
    Space* const space = held.load(std::memory_order_relaxed);
    if (space == nullptr) break;
    for (std::size_t leaf = 0; leaf < space->leaf_count; ++leaf)
      std::free(space->leaf(leaf * kLeafEntries).load(std::memory_order_relaxed));
    std::free(space);
  }
  while (chunks_ != nullptr) {
    Chunk* const next = chunks_->next;
    std::free(chunks_);
    chunks_ = next;
  }
}

// Writers hold it for some tens of nanoseconds, so a spin is shorter than a sleep; a holder that lost its processor
// gets it back by the yield.
void PeerMap::lock() noexcept {
  for (int spins = 0; busy_.exchange(true, std::memory_order_acquire);)
    while (busy_.load(std::memory_order_relaxed))
      if (++spins > kSpins) sched_yield();
}

bool PeerMap::key_of(const Address& address, Key& key) noexcept {
  constexpr std::uint64_t kMappedLow = 0xFFFF0000;  // ::ffff:0:0/96, as its second half is loaded
  key.family = address.family;
  key.number = address.port;
  switch (address.family) {
    case Family::inet:
      key.low = load<std::uint32_t>(address.bytes.data());
      return key.number != 0;
    case Family::inet6:
      key.high = load<std::uint64_t>(address.bytes.data());
      key.low = load<std::uint64_t>(address.bytes.data() + 8);
      if (key.high == 0 && (key.low & 0xFFFFFFFF) == kMappedLow) {  // a dual-stack server's spelling of an IPv4 hop
        key.family = Family::inet;
        key.low >>= 32;
      }
      return key.number != 0;
    case Family::unix_domain:
      return address.name_length == kAutobindDigits && read_hex(address.bytes.data(), key.number);
    case Family::unspec:
      break;
  }
  return false;
}

const PeerMap::Space* PeerMap::find_space(const Key& key) const noexcept {
  for (const auto& held : spaces_) {
    const Space* const space = held.load(std::memory_order_acquire);
    if (space == nullptr || space->host.same_host(key)) return space;
  }
  return nullptr;
}

// Makes what is missing of the way to an entry. Under the lock.
std::atomic<PeerMap::Slot*>* PeerMap::entry_for_writing(const Key& key, const Space*& space, int& error) noexcept {
  space = find_space(key);
  if (space == nullptr) {
    std::uint32_t index = 0;
    while (index < kMaxSpaces && spaces_[index].load(std::memory_order_relaxed) != nullptr) ++index;
    if (index == kMaxSpaces) return error = ENOSPC, nullptr;
    const std::size_t leaf_count = (key.family == Family::unix_domain ? kUnixNames : kPorts) / kLeafEntries;
    Space* const made = allocate<Space>(leaf_count * sizeof(std::atomic<Leaf*>));
    if (made == nullptr) return error = ENOMEM, nullptr;
    made->host = key;
    made->index = index;
    made->leaf_count = leaf_count;
    spaces_[index].store(made, std::memory_order_release);
    space = made;
  }
  std::atomic<Leaf*>& held = space->leaf(key.number);
  Leaf* leaf = held.load(std::memory_order_relaxed);
  if (leaf == nullptr) {
    leaf = allocate<Leaf>();
    if (leaf == nullptr) return error = ENOMEM, nullptr;
    held.store(leaf, std::memory_order_release);
  }
  return &leaf->entries[key.number % kLeafEntries];
}

PeerMap::Slot* PeerMap::take_slot() noexcept {
  if (free_ == nullptr) {
    Chunk* const chunk = allocate<Chunk>();
    if (chunk == nullptr) return nullptr;
    chunk->next = chunks_;
    chunks_ = chunk;
    for (std::size_t i = kSlotsInChunk; i-- != 0;) {
      chunk->slots[i].sequence.store(1, std::memory_order_relaxed);
      chunk->slots[i].next_free = free_;
      free_ = &chunk->slots[i];
    }
  }
  Slot* const slot = free_;
  free_ = slot->next_free;
  return slot;
}

void PeerMap::give_slot(Slot& slot) noexcept {
  slot.retire();
  slot.next_free = free_;
  free_ = &slot;
}

PeerMap::Guard PeerMap::put(const Address& address, const Peer& peer) noexcept {
  Guard guard;
  guard.key_ = address;
  Key key;
  if (!key_of(address, key)) {
    guard.error_ = EINVAL;
    return guard;
  }
  lock();
  const Space* space = nullptr;
  std::atomic<Slot*>* const entry = entry_for_writing(key, space, guard.error_);
  Slot* const slot = entry == nullptr ? nullptr : take_slot();
  if (slot == nullptr) {
    if (entry != nullptr) guard.error_ = ENOMEM;
    unlock();
    return guard;
  }
  slot->write(space->place(key.number), peer);
  Slot* const before = entry->load(std::memory_order_relaxed);
  entry->store(slot, std::memory_order_release);
  if (before != nullptr) {
    give_slot(*before);
  } else {
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  guard.map_ = this;
  guard.slot_ = slot;
  guard.generation_ = slot->sequence.load(std::memory_order_relaxed);
  unlock();
  return guard;
}

PeerMap::Guard PeerMap::bind_and_put(int fd, const Address& source, const Peer& peer) noexcept {
  Guard guard;
  sockaddr_storage storage;
  if (bind(fd, reinterpret_cast<sockaddr*>(&storage), source.to(storage)) != 0) {
    guard.error_ = errno;
    return guard;
  }
  socklen_t length = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    guard.error_ = errno;
    return guard;
  }
  return put(Address::from(reinterpret_cast<sockaddr*>(&storage), length), peer);
}

void PeerMap::erase(Slot& slot, std::uint32_t generation) noexcept {
  lock();
  if (slot.sequence.load(std::memory_order_relaxed) == generation) {
    const std::uint32_t place = slot.place.load(std::memory_order_relaxed);
    const std::uint32_t number = place & ((1U << kNumberBits) - 1);
    const Space* const space = spaces_[place >> kNumberBits].load(std::memory_order_relaxed);
    Leaf* const leaf = space->leaf(number).load(std::memory_order_relaxed);
    leaf->entries[number % kLeafEntries].store(nullptr, std::memory_order_release);
    give_slot(slot);
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  unlock();
}

std::optional<Peer> PeerMap::find(const Address& address) const noexcept {
  Key key;
  if (!key_of(address, key)) return std::nullopt;
  const Space* const space = find_space(key);
  if (space == nullptr) return std::nullopt;
  const Leaf* const leaf = space->leaf(key.number).load(std::memory_order_acquire);
  if (leaf == nullptr) return std::nullopt;
  // A read that fails met the end of the entry it had found: what stands there now is looked at, a few times at most,
  // since "unknown" is always a safe answer.
  std::optional<Peer> peer(std::in_place);
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const Slot* const slot = leaf->entries[key.number % kLeafEntries].load(std::memory_order_acquire);
    if (slot == nullptr) break;
    if (slot->read(space->place(key.number), *peer)) return peer;
  }
  peer.reset();
  return peer;
}

std::optional<Peer> PeerMap::find(const sockaddr* address, socklen_t length) const noexcept {
  return find(Address::from(address, length));
}

PeerMap::Guard& PeerMap::Guard::operator=(Guard&& other) noexcept {
  if (this == &other) return *this;
  erase();
  map_ = other.map_;
  slot_ = other.slot_;
  generation_ = other.generation_;
  error_ = other.error_;
  key_ = other.key_;
  other.slot_ = nullptr;
  return *this;
}

void PeerMap::Guard::erase() noexcept {
  if (slot_ == nullptr) return;
  map_->erase(*slot_, generation_);
  slot_ = nullptr;
}

}  // namespace ppv2
