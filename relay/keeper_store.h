// What the keeper holds: a duplicate of the session table's memfd and of every listener; between two workers also of
// every pipe, session socket and newcomer. It knows them by number only, believes no number that is out of bounds, and
// never looks into the table.
//
// Owns every descriptor that it was given. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relay/keeper_channel.h"
#include "relay/keeper_wire.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

class KeeperStore {
 public:
  // What is said about the whole content, a message at a time.
  struct Saying {
    KeeperMessage message;
    std::vector<int> fds;  // borrowed
  };
  // Where one has got to in saying it all.
  struct Cursor {
    enum class Part : std::uint8_t { table, listeners, pipes, sessions, newcomers, end };
    Part part = Part::table;
    std::size_t next = 0;
  };

  // Takes a table, listener, pipes, sessions or newcomers message in. Fails when it breaks the rules: then nothing else
  // that its sender says is to be believed.
  [[nodiscard]] sys::Result<void> take(Received received);

  // A message after the other; nothing after the last one.
  [[nodiscard]] std::optional<Saying> say(Cursor& cursor) const;

  [[nodiscard]] bool has_table() const { return static_cast<bool>(table_); }
  [[nodiscard]] std::uint32_t layout() const { return table_head_.a; }
  [[nodiscard]] std::uint32_t extension_bytes() const { return table_head_.b; }
  [[nodiscard]] std::uint32_t sessions() const { return held_; }
  [[nodiscard]] std::size_t listeners() const { return listeners_.size(); }

  // The worker has sessions and pipes itself now.
  void forget_sessions();
  // Resets every session, for good, and forgets table and pipes; listeners stay.
  void drop_sessions();
  // A new worker says which listeners it uses: those that it has not named when it runs are nobody's any more.
  void expect_listeners();
  void forget_unnamed_listeners();
  void forget_last_listeners(std::uint32_t count);
  void close_listeners() { listeners_.clear(); }

 private:
  struct Listener {
    KeeperItem number;  // as it was told
    std::string key;
    sys::UniqueFd fd;
    bool named = true;
  };
  struct Pipe {
    sys::UniqueFd in;
    sys::UniqueFd out;
  };
  struct Session {
    std::uint32_t generation = 0;
    sys::UniqueFd client;
    sys::UniqueFd origin;
  };
  struct Newcomer {
    std::uint64_t socket = 0;  // its inode
    sys::UniqueFd fd;
  };

  [[nodiscard]] sys::Result<void> take_table(Received& received);
  [[nodiscard]] sys::Result<void> take_listener(Received& received);
  [[nodiscard]] sys::Result<void> take_pipes(Received& received);
  [[nodiscard]] sys::Result<void> take_sessions(Received& received);
  [[nodiscard]] sys::Result<void> take_newcomers(Received& received);
  void say_pipes(Cursor& cursor, Saying& saying) const;
  void say_sessions(Cursor& cursor, Saying& saying) const;
  void say_newcomers(Cursor& cursor, Saying& saying) const;

  sys::UniqueFd table_;
  KeeperItem table_head_;  // {layout, extension bytes, slots}
  std::uint32_t pipe_limit_ = 0;
  std::vector<Listener> listeners_;
  std::vector<Pipe> pipes_;        // by index
  std::vector<Session> sessions_;  // by slot, as far as slots have been used
  std::vector<Newcomer> newcomers_;
  std::uint32_t held_ = 0;
};

}  // namespace ravelin::relay
