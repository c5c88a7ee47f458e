// Clients and an echoing origin that notice a single wrong byte: byte i of session s is a function of s and i.
//
// One thread serves all of them. Some clients read slowly, so that bytes pile up on the way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sys/address.h"
#include "sys/unique_fd.h"

namespace ravelin::takeover {

class Peers {
 public:
  // Each session sends `bytes` and wants them back.
  Peers(std::size_t sessions, std::uint64_t bytes);
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  [[nodiscard]] const sys::SocketAddress& origin() const { return origin_address_; }
  // Connects all clients to `edge` and starts to move bytes.
  void start(const sys::SocketAddress& edge);

  [[nodiscard]] std::uint64_t received() const { return received_.load(); }  // by all clients so far
  [[nodiscard]] std::size_t finished() const { return finished_.load(); }    // clients that have had all and the end
  [[nodiscard]] std::size_t broken() const { return broken_.load(); }
  [[nodiscard]] std::string first_fault() const { return first_fault_; }  // once the threads have stopped
  void stop();

 private:
  struct Client;
  struct Echo;
  void run();
  void serve(Client& client);
  void serve(Echo& echo);
  void accept();
  void fault(std::string what);

  std::uint64_t bytes_;
  sys::UniqueFd listener_;
  sys::SocketAddress origin_address_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::unique_ptr<Echo>> echoes_;
  std::string first_fault_;
  std::atomic<std::uint64_t> received_{0};
  std::atomic<std::size_t> finished_{0};
  std::atomic<std::size_t> broken_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace ravelin::takeover
