// The sources of a listener's sessions: how many each has now, and how fast it makes new ones. Of fixed size from the
// start: a flood of sources costs no more memory than its first second.
//
// A source without sessions gives its place to a newcomer, the one that has been silent longest first, and its rate is
// then forgotten. Where no place can be had, because the sources that were looked at all have sessions, the newcomer
// shares one place with all others that found none, and one limit with them.
//
// Places are given out and looked up on one thread (the acceptor's); released() is for any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "relay/token_bucket.h"
#include "sys/address.h"

namespace ravelin::relay {

class SourceTable {
 public:
  static constexpr std::uint32_t kShared = 0;  // the place of those that found none

  struct Place {
    std::array<std::uint8_t, 17> key{};  // the family and the prefix
    std::atomic<std::uint32_t> sessions{0};
    TokenBucket bucket;
    std::uint32_t next = 0;  // in the chain of its hash; 0 ends it
    std::uint32_t older = 0;
    std::uint32_t newer = 0;
  };

  // `seed` is not to be known to those who choose the addresses.
  SourceTable(const SourceLimits& limits, std::uint64_t seed);

  // The place of the peer's source, which becomes the newest.
  [[nodiscard]] std::uint32_t place_of(const sys::SocketAddress& peer);
  [[nodiscard]] Place& at(std::uint32_t place) { return places_[place]; }
  void released(std::uint32_t place) { places_[place].sessions.fetch_sub(1); }

  [[nodiscard]] std::uint32_t used() const { return used_; }

 private:
  using Key = std::array<std::uint8_t, 17>;

  [[nodiscard]] Key key_of(const sys::SocketAddress& peer) const;
  [[nodiscard]] std::uint32_t& chain_of(const Key& key);
  [[nodiscard]] std::uint32_t free_place();
  void link_as_newest(std::uint32_t place);
  void unlink(std::uint32_t place);

  const SourceLimits& limits_;
  std::uint64_t seed_;
  std::unique_ptr<Place[]> places_;  // the first is the shared one
  std::vector<std::uint32_t> chains_;
  std::uint32_t used_ = 0;
  std::uint32_t oldest_ = 0;
  std::uint32_t newest_ = 0;
};

}  // namespace ravelin::relay
