#include "relay/source_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ravelin::relay {
namespace {

// How many of the oldest are asked whether they can go.
constexpr int kPatience = 16;

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93U;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93U;
  return value ^ (value >> 32);
}

}  // namespace

SourceTable::SourceTable(const SourceLimits& limits, std::uint64_t seed)
    : limits_(limits),
      seed_(seed),
      places_(std::make_unique<Place[]>(limits.table + std::size_t{1})),
      chains_(std::bit_ceil(limits.table + std::size_t{1}), 0) {
  places_[kShared].bucket = TokenBucket(limits.rate);
}

std::uint32_t SourceTable::place_of(const sys::SocketAddress& peer) {
  const Key key = key_of(peer);
  for (std::uint32_t place = chain_of(key); place != 0; place = places_[place].next) {
    if (places_[place].key != key) continue;
    unlink(place);
    link_as_newest(place);
    return place;
  }
  const std::uint32_t place = free_place();
  if (place == kShared) return kShared;
  std::uint32_t& chain = chain_of(key);
  places_[place].key = key;
  places_[place].bucket = TokenBucket(limits_.rate);
  places_[place].next = std::exchange(chain, place);
  link_as_newest(place);
  return place;
}

SourceTable::Key SourceTable::key_of(const sys::SocketAddress& peer) const {
  Key key{};
  key[0] = static_cast<std::uint8_t>(peer.family);
  std::uint32_t bits = peer.family == AF_INET ? limits_.ipv4_prefix : limits_.ipv6_prefix;
  for (std::size_t i = 0; i < peer.ip().size() && bits > 0; ++i) {
    const std::uint32_t of_byte = std::min(bits, 8U);
    key[i + 1] = static_cast<std::uint8_t>(peer.ip()[i] & (0xff00U >> of_byte));
    bits -= of_byte;
  }
  return key;
}

std::uint32_t& SourceTable::chain_of(const Key& key) {
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), key.data() + 1, sizeof words);
  const std::uint64_t hash = mix(mix(mix(seed_ ^ key[0]) ^ words[0]) ^ words[1]);
  return chains_[hash & (chains_.size() - 1)];
}

std::uint32_t SourceTable::free_place() {
  if (used_ < limits_.table) return ++used_;
  for (int i = 0; i < kPatience && oldest_ != 0; ++i) {
    const std::uint32_t place = oldest_;
    unlink(place);
    if (places_[place].sessions.load() != 0) {
      link_as_newest(place);
      continue;
    }
    std::uint32_t* link = &chain_of(places_[place].key);
    while (*link != place) link = &places_[*link].next;
    *link = places_[place].next;
    return place;
  }
  return kShared;
}

void SourceTable::link_as_newest(std::uint32_t place) {
  places_[place].older = newest_;
  places_[place].newer = 0;
  (newest_ != 0 ? places_[newest_].newer : oldest_) = place;
  newest_ = place;
}

void SourceTable::unlink(std::uint32_t place) {
  const std::uint32_t older = places_[place].older;
  const std::uint32_t newer = places_[place].newer;
  (older != 0 ? places_[older].newer : oldest_) = newer;
  (newer != 0 ? places_[newer].older : newest_) = older;
}

}  // namespace ravelin::relay
