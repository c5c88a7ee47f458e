// The first 16 bytes that a client of the benchmark sends: they tell the origin what this connection is for.
#pragma once

#include <array>
#include <cstdint>

namespace ravelin::bench {

enum class Task : std::uint8_t {
  sink,    // read everything, answer the client's FIN with a FIN
  source,  // send until the client's FIN
  both,    // sink and source at once
  answer,  // for each `question` bytes that come, send `answer` bytes
  mirror,  // send back the very bytes that come
  stall,   // read nothing any more
  slow,    // read 64 KiB every 50 ms
};

inline constexpr std::array<char, 4> kOrderMagic = {'R', 'V', 'L', 'B'};

// Both ends are this program on this machine, so the bytes are the struct's own.
struct Order {
  std::array<char, 4> magic = kOrderMagic;
  Task task = Task::sink;
  std::uint8_t reserved = 0;
  std::uint16_t client_port = 0;  // what a PROXY header in front has to name as the source port
  std::uint32_t question = 0;     // bytes; only for Task::answer
  std::uint32_t answer = 0;       // bytes; only for Task::answer
};
static_assert(sizeof(Order) == 16);

}  // namespace ravelin::bench
