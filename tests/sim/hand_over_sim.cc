// Workers die one after the other, and so do heirs and next workers in the middle of what they say and hear. Every
// session that was told of goes on, with its own sockets; the others are counted; and no descriptor is left over.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>

#include "relay/inheritance.h"
#include "relay/keeper_store.h"
#include "relay/session_table.h"
#include "tests/sim/simulation.h"

namespace sim {
namespace {

using namespace ravelin;
using namespace ravelin::relay;

constexpr std::uint32_t kSlots = 24;
constexpr std::uint32_t kPipes = 6;

std::uint64_t inode_of(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Something that can be told from every other one.
int new_descriptor() {
  return ::memfd_create("socket", MFD_CLOEXEC);
}

// As it arrives at the other end of a channel: through the wire's form, with duplicates.
Received over_the_wire(const KeeperMessage& message, const std::vector<int>& fds) {
  std::vector<std::byte> bytes;
  encode(message, bytes);
  const auto decoded = decode(bytes);
  require(decoded.has_value(), "message {} is not one at the other end", static_cast<unsigned>(message.kind));
  Received received{.state = Received::State::message, .message = *decoded};
  require(descriptors_of(*decoded) == fds.size(), "{} descriptors with a message of {}", fds.size(),
          descriptors_of(*decoded));
  for (const int fd : fds) received.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return received;
}

struct Sockets {
  std::uint32_t generation = 0;
  std::uint64_t client = 0;  // inodes
  std::uint64_t origin = 0;  // 0: none
  bool told = false;         // to the keeper
};

class Model {
 public:
  explicit Model(Chance& chance) : chance_(chance) {
    auto table = SessionTable::create({.loops = 2, .sessions = kSlots, .pipes = kPipes, .extension_bytes = 8});
    require(table.has_value(), "no table");
    table_ = std::move(*table);
    const KeeperMessage message{.kind = KeeperKind::table,
                                .items = {{.a = SessionTable::kLayoutVersion, .b = 8, .c = kSlots}, {.a = kPipes}}};
    require(keeper_.take(over_the_wire(message, {table_.fd()})).has_value(), "the keeper refuses the table");
  }

  void work() {
    for (std::uint64_t left = chance_.between(1, 60); left > 0; --left) {
      const auto slot = static_cast<std::uint32_t>(chance_.below(kSlots));
      SessionRecord& record = table_.record(slot);
      if (record.phase == Phase::free) {
        open(slot, record);
      } else if (chance_.percent(40)) {
        close(slot, record);
      }
    }
    const auto index = static_cast<std::uint32_t>(chance_.below(kPipes));
    if (table_.pipe(index).in < 0) table_.pipe(index) = {.in = new_descriptor(), .out = new_descriptor()};
  }

  // The worker dies, its heir says what there was, or dies over it.
  void die() {
    std::uint64_t left = chance_.percent(20) ? chance_.below(6) : ~0U;  // messages that the heir still gets out
    KeeperMessage pipes{.kind = KeeperKind::pipes};
    std::vector<int> fds;
    for (std::uint32_t i = 0; i < kPipes; ++i) {
      if (table_.pipe(i).in < 0) continue;
      pipes.items.push_back({.a = i, .b = 2});
      fds.insert(fds.end(), {table_.pipe(i).in, table_.pipe(i).out});
    }
    if (!fds.empty()) tell(pipes, fds, left);
    KeeperMessage batch{.kind = KeeperKind::sessions};
    std::vector<std::uint32_t> named;
    fds.clear();
    const auto flush = [&] {
      if (!fds.empty() && tell(batch, fds, left)) {
        for (const std::uint32_t slot : named) sockets_[slot].told = true;
      }
      batch.items.clear();
      fds.clear();
      named.clear();
    };
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      const SessionRecord& record = table_.record(slot);
      if (record.phase == Phase::free || record.client_fd < 0) continue;
      batch.items.push_back({.a = slot, .b = record.generation, .c = record.origin_fd < 0 ? 1U : 2U});
      fds.push_back(record.client_fd);
      if (record.origin_fd >= 0) fds.push_back(record.origin_fd);
      named.push_back(slot);
      if (chance_.percent(30)) flush();
    }
    flush();
    close_descriptors();
  }

  // The next worker takes over, at the first or the third attempt.
  void take_over() {
    while (chance_.percent(25)) (void)hear(chance_.below(8));  // it dies meanwhile: all that it has heard is closed
    Inheritance inheritance = hear(~0U);
    inheritance.cause = HandOverCause::killed;
    std::uint32_t expected = 0;
    for (const auto& [slot, sockets] : sockets_) expected += sockets.told ? 1 : 0;
    const Claim claimed = claim(table_, inheritance, [](SessionRecord&) {});
    require(claimed.sessions == expected, "{} sessions go on, {} were told of", claimed.sessions, expected);
    require(claimed.lost == sockets_.size() - expected, "{} sessions are lost, {} were not told of", claimed.lost,
            sockets_.size() - expected);
    for (const auto& [slot, sockets] : sockets_) {
      const SessionRecord& record = table_.record(slot);
      if (!sockets.told) {
        require(record.phase == Phase::closing && record.reason == Reason::process_died, "slot {} is lost and {}", slot,
                static_cast<unsigned>(record.phase));
        continue;
      }
      require(inode_of(record.client_fd) == sockets.client, "slot {} has another one's client", slot);
      require(sockets.origin == 0 || inode_of(record.origin_fd) == sockets.origin, "slot {} has another one's origin",
              slot);
    }
    keeper_.forget_sessions();
    require(keeper_.sessions() == 0, "the keeper still holds {} sessions", keeper_.sessions());
    bury();
  }

  ~Model() { close_descriptors(); }

 private:
  void open(std::uint32_t slot, SessionRecord& record) {
    const std::uint32_t generation = record.generation + 1;
    const bool relays = chance_.percent(70);
    record = SessionRecord{.generation = generation, .phase = relays ? Phase::relaying : Phase::waiting};
    record.client_fd = new_descriptor();
    if (relays) record.origin_fd = new_descriptor();
    sockets_[slot] = {.generation = generation,
                      .client = inode_of(record.client_fd),
                      .origin = relays ? inode_of(record.origin_fd) : 0};
  }

  void close(std::uint32_t slot, SessionRecord& record) {
    ::close(std::exchange(record.client_fd, -1));
    if (record.origin_fd >= 0) ::close(std::exchange(record.origin_fd, -1));
    record.phase = Phase::free;
    sockets_.erase(slot);
  }

  // False: the heir is gone.
  bool tell(const KeeperMessage& message, const std::vector<int>& fds, std::uint64_t& left) {
    if (left == 0) return false;
    --left;
    const auto taken = keeper_.take(over_the_wire(message, fds));
    require(taken.has_value(), "the keeper refuses what the heir says");
    return true;
  }

  [[nodiscard]] Inheritance hear(std::uint64_t most) {
    Inheritance inheritance;
    KeeperStore::Cursor cursor;
    for (std::uint64_t i = 0; i < most; ++i) {
      const auto saying = keeper_.say(cursor);
      if (!saying) break;
      const auto taken = inheritance.take(over_the_wire(saying->message, saying->fds));
      require(taken.has_value(), "the worker refuses what the keeper says");
    }
    return inheritance;
  }

  // What was lost is over.
  void bury() {
    for (auto each = sockets_.begin(); each != sockets_.end();) {
      SessionRecord& record = table_.record(each->first);
      each->second.told = false;
      if (record.phase != Phase::closing) {
        ++each;
        continue;
      }
      record.phase = Phase::free;
      each = sockets_.erase(each);
    }
  }

  void close_descriptors() {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      const SessionRecord& record = table_.record(slot);
      if (record.phase == Phase::free) continue;
      if (record.client_fd >= 0) ::close(record.client_fd);
      if (record.origin_fd >= 0) ::close(record.origin_fd);
    }
    for (std::uint32_t i = 0; i < kPipes; ++i) {
      const PipeRecord pipe = table_.pipe(i);
      if (pipe.in >= 0) ::close(pipe.in);
      if (pipe.out >= 0) ::close(pipe.out);
    }
  }

  Chance& chance_;
  SessionTable table_;
  KeeperStore keeper_;
  std::map<std::uint32_t, Sockets> sockets_;
};

}  // namespace

void hand_over(Chance& chance) {
  const std::size_t before = open_descriptors();
  {
    Model model(chance);
    for (std::uint64_t lives = chance.between(1, 6); lives > 0; --lives) {
      model.work();
      model.die();
      model.take_over();
    }
  }
  require(open_descriptors() == before, "{} descriptors, {} at the start", open_descriptors(), before);
}

}  // namespace sim
