// What clients of the admin server can take at most. None of it is set by operators: a client that needs more than this
// is broken or hostile.
#pragma once

#include <chrono>
#include <cstddef>

namespace ravelin::admin {

struct Limits {
  std::size_t connections = 64;
  std::size_t header_bytes = 8 << 10;
  std::size_t body_bytes = 64 << 10;
  std::size_t answer_bytes = 64 << 20;        // of all large answers together that clients have not taken yet
  std::chrono::milliseconds idle{60'000};     // between two requests, and before the first
  std::chrono::milliseconds request{10'000};  // from a request's first byte to its last
  std::chrono::milliseconds handler{10'000};  // from there to the answer
  std::chrono::milliseconds taking{30'000};   // for the client to take the answer, or a megabyte of it
  std::chrono::milliseconds parting{2'000};   // for the client to close after the last answer
};

}  // namespace ravelin::admin
