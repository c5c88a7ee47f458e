#include <sys/socket.h>

#include <deque>
#include <random>
#include <vector>

#include "tests/bench/load/meter.h"
#include "tests/bench/load/order.h"
#include "tests/bench/load/socket.h"
#include "tests/bench/load/stop.h"
#include "tests/bench/load/workload.h"

namespace ravelin::bench {
namespace {

constexpr std::size_t kPerConnection = 4 << 20;
constexpr std::size_t kLargestPiece = 100'000;
constexpr auto kDeadline = std::chrono::seconds(30);

// Sends random bytes in pieces of random size to an origin that mirrors them, ends with a FIN, and expects the same
// bytes and then a FIN back: half-close and exactness in one.
class Mirrored final : public Ready {
 public:
  Mirrored(Poller& poller, const Options& options, unsigned seed)
      : poller_(poller), random_(seed), fd_(connect_now(parse_address(options.to), seed)), bytes_(kPerConnection) {
    for (char& byte : bytes_) byte = static_cast<char>(random_());
    const Order order{.task = Task::mirror, .client_port = ntohs(local_address(fd_.get()).sin_port)};
    if (send(fd_.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order) stop_errno("cannot send an order");
    poller_.add(fd_.get(), EPOLLIN | EPOLLOUT, *this);
  }

  void on_ready(std::uint32_t events) override {
    if ((events & EPOLLOUT) != 0) send_piece();
    if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) compare_piece();
  }

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] bool same() const { return same_; }
  [[nodiscard]] std::size_t compared() const { return compared_; }
  [[nodiscard]] std::string control() const { return congestion_control(fd_.get()); }

 private:
  void send_piece() {
    const std::size_t piece = std::min<std::size_t>(bytes_.size() - sent_, 1 + random_() % kLargestPiece);
    const ssize_t sent = send(fd_.get(), bytes_.data() + sent_, piece, MSG_NOSIGNAL);
    if (sent > 0) sent_ += static_cast<std::size_t>(sent);
    if (sent_ < bytes_.size()) return;
    shutdown(fd_.get(), SHUT_WR);
    poller_.change(fd_.get(), EPOLLIN, *this);
  }

  void compare_piece() {
    std::array<char, 64 * 1024> piece;
    const ssize_t got = recv(fd_.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      same_ = got == 0 && compared_ == bytes_.size();
      done_ = true;
      fd_.reset();
      return;
    }
    const auto count = static_cast<std::size_t>(got);
    if (compared_ + count > bytes_.size() || std::memcmp(piece.data(), bytes_.data() + compared_, count) != 0) {
      done_ = true;
      fd_.reset();
      return;
    }
    compared_ += count;
  }

  Poller& poller_;
  std::minstd_rand random_;
  sys::UniqueFd fd_;
  std::vector<char> bytes_;
  std::size_t sent_ = 0;
  std::size_t compared_ = 0;
  bool done_ = false;
  bool same_ = false;
};

}  // namespace

nlohmann::json run_exact(const Options& options, const Counters&) {
  Poller poller;
  std::deque<Mirrored> connections;
  for (unsigned i = 0; i < options.connections; ++i) connections.emplace_back(poller, options, i + 1);
  const std::string control = connections.empty() ? "" : connections.front().control();
  poller.run_until(Clock::now() + kDeadline, [&] {
    return std::all_of(connections.begin(), connections.end(), [](const Mirrored& c) { return c.done(); });
  });
  const auto same = std::count_if(connections.begin(), connections.end(), [](const Mirrored& c) { return c.same(); });
  std::size_t compared = 0;
  for (const Mirrored& connection : connections) compared += connection.compared();
  return {{"connections", options.connections},
          {"bytes_compared", compared},
          {"client_congestion_control", control},
          {"errors", options.connections - static_cast<unsigned>(same)}};
}

}  // namespace ravelin::bench
