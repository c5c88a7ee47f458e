// What the redirector is told: its own part, and the engine's and the daemon's in theirs. Plain values, made once from
// flags and file, replaced as a whole when the file is read again.
#pragma once

#include <string>
#include <vector>

#include "redirector/candidate.h"
#include "sys/address.h"
#include "sys/units.h"

namespace ravelin::redirector {

struct OriginSettings {
  sys::Endpoint address;
  bool operator==(const OriginSettings&) const = default;
};

struct PoolSettings {
  std::string name = "default";
  Balancing balancing = Balancing::round_robin;
  unsigned connect_attempts = 3;
  sys::Duration resolve_interval = std::chrono::seconds(30);
  sys::Duration resolve_backoff = std::chrono::seconds(1);
  std::vector<OriginSettings> origins;
  bool operator==(const PoolSettings&) const = default;
};

}  // namespace ravelin::redirector
