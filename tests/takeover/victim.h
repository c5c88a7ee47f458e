// A redirector that will be killed, and what can be saved of it: its session table and duplicates of its descriptors.
#pragma once

#include <string>

#include "relay/session_table.h"
#include "sys/address.h"
#include "sys/unique_fd.h"

namespace ravelin::takeover {

class Victim {
 public:
  // Starts `program` between an address of its own choice and `origin`.
  Victim(const std::string& program, const sys::SocketAddress& origin);
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim();  // kills it if it still runs

  [[nodiscard]] const sys::SocketAddress& address() const { return address_; }

  // Stops it wherever it is, duplicates what its table names, and kills it. The table then holds this process's
  // numbers.
  [[nodiscard]] relay::SessionTable kill_and_take();

 private:
  [[nodiscard]] sys::UniqueFd duplicate(int fd) const;
  [[nodiscard]] relay::SessionTable find_table() const;
  void kill();

  int pid_ = -1;
  sys::UniqueFd pidfd_;
  sys::UniqueFd log_;
  sys::SocketAddress address_;
};

}  // namespace ravelin::takeover
