// The sockets that an engine listens on: opened anew, passed in, or left by another process.
//
// Not bound to any loop; whoever waits for connections on them is the acceptor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relay/inheritance.h"
#include "relay/settings.h"
#include "sys/log.h"
#include "sys/unix_listener.h"

namespace ravelin::relay {

class Listeners {
 public:
  struct Listener {
    std::uint16_t index;  // in the settings
    sys::UniqueFd fd;
    sys::SocketAddress address;  // as bound: port 0 has become a port
    std::string unix_path;
    std::string key;  // between processes
    sys::SocketFile file;
  };

  // Both are borrowed.
  Listeners(sys::Log& log, const EngineSettings& settings) : log_(log), settings_(settings) {}
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  // Opens every listener of the settings. Those that another process has left, or has opened for this one, are taken
  // instead of opened anew, with all that waits in them.
  //   at_start     all or nothing: fails with the address that cannot be had, or with the socket that nobody wants
  //   taking_over  sessions depend on this process already: what cannot be opened is logged and left out
  //   ahead        for the next process, all or nothing: what is known by its key alone is not opened a second time
  enum class Opening : std::uint8_t { at_start, taking_over, ahead };
  [[nodiscard]] sys::Result<void> open(std::vector<Inheritance::Listener> inherited, Opening opening);
  void announce() const;
  void close() { listeners_.clear(); }

  [[nodiscard]] const std::vector<Listener>& all() const { return listeners_; }
  [[nodiscard]] std::vector<sys::SocketAddress> addresses() const;
  // What an inherited listener's index is in these settings; nothing for one that they do not name any more.
  [[nodiscard]] std::optional<std::uint16_t> translate(ListenerNumber inherited) const;
  // The latest numbering of those that were inherited; nothing if none were.
  [[nodiscard]] std::optional<std::uint16_t> numbering() const { return numbering_; }
  // The one that has accepted a connection; null if that was none of these.
  [[nodiscard]] const Listener* accepted_by(int connection) const;

 private:
  [[nodiscard]] sys::Result<void> open(std::uint16_t index);
  [[nodiscard]] bool take_inherited(std::uint16_t index, const std::string& key, const std::string& unix_path);
  [[nodiscard]] sys::Result<void> add(std::uint16_t index, const sys::SocketAddress& address);

  sys::Log& log_;
  const EngineSettings& settings_;
  std::vector<Listener> listeners_;
  std::vector<Inheritance::Listener> inherited_;                   // not taken yet
  std::vector<std::pair<ListenerNumber, std::uint16_t>> indexes_;  // inherited, and what it is now
  std::optional<std::uint16_t> numbering_;
};

}  // namespace ravelin::relay
