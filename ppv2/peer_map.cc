#include "ppv2/peer_map.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ppv2/hex.h"
#include "ppv2/peer_slots.h"

namespace ppv2 {
namespace {

constexpr std::size_t kPorts = 65536;
constexpr std::size_t kUnixNames = 1U << 20;  // five hex digits
constexpr std::size_t kAutobindDigits = 5;
constexpr int kReadAttempts = 8;
constexpr int kSpins = 64;

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
inline void PeerMap::lock() noexcept {
  for (int spins = 0; busy_.exchange(true, std::memory_order_acquire);)
    while (busy_.load(std::memory_order_relaxed))
      if (++spins > kSpins) sched_yield();
}

inline bool PeerMap::key_of(const Address& address, Key& key) noexcept {
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

// Null while nothing was ever entered near it.
inline std::atomic<PeerMap::Slot*>* PeerMap::find_entry(const Key& key, const Space*& space) const noexcept {
  space = find_space(key);
  if (space == nullptr) return nullptr;
  Leaf* const leaf = space->leaf(key.number).load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : &leaf->entries[key.number % kLeafEntries];
}

// Makes what is missing of the way to an entry. Under the lock.
std::atomic<PeerMap::Slot*>* PeerMap::make_entry(const Key& key, const Space*& space, int& error) noexcept {
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

void PeerMap::add_slots() noexcept {
  Chunk* const chunk = allocate<Chunk>();
  if (chunk == nullptr) return;
  chunk->next = chunks_;
  chunks_ = chunk;
  for (std::size_t i = kSlotsInChunk; i-- != 0;) {
    chunk->slots[i].sequence.store(1, std::memory_order_relaxed);
    chunk->slots[i].next_free = free_;
    free_ = &chunk->slots[i];
  }
}

inline PeerMap::Slot* PeerMap::take_slot() noexcept {
  if (free_ == nullptr) add_slots();
  if (free_ == nullptr) return nullptr;
  Slot* const slot = free_;
  free_ = slot->next_free;
  return slot;
}

inline void PeerMap::give_slot(Slot& slot) noexcept {
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
  std::atomic<Slot*>* entry = find_entry(key, space);
  if (entry == nullptr) entry = make_entry(key, space, guard.error_);
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

inline void PeerMap::erase(Slot& slot, std::uint32_t generation) noexcept {
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

bool PeerMap::copy_entry(const Address& address, Peer& peer) const noexcept {
  Key key;
  if (!key_of(address, key)) return false;
  const Space* space = nullptr;
  const std::atomic<Slot*>* const entry = find_entry(key, space);
  if (entry == nullptr) return false;
  // A read that fails met the end of the entry it had found: what stands there now is looked at, a few times at most,
  // since "unknown" is always a safe answer.
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    const Slot* const slot = entry->load(std::memory_order_acquire);
    if (slot == nullptr) return false;
    if (slot->read(space->place(key.number), peer)) return true;
  }
  return false;
}

std::optional<Peer> PeerMap::find(const Address& address) const noexcept {
  std::optional<Peer> peer(std::in_place);
  if (!copy_entry(address, *peer)) peer.reset();
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
