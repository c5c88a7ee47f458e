// A Boost.Asio server with libppv2: each connection's header is taken off before its HTTP request is read, and the
// request is answered with the client's real address. Usage: ppv2_asio TRUSTED_CIDR; prints its port on 127.0.0.1.
//
// What came behind the header is where the buffer of the next layer starts: async_read_until() looks there first.
#include <ppv2/cidr.h>
#include <ppv2/sniffer.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kPatience{3};  // from accept to the end of the request
constexpr std::size_t kLongestRequest = 8192;

// A connection, owned by the operations that it waits for.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const ppv2::Address& measured, bool trusted)
      : socket_(std::move(socket)),
        deadline_(socket_.get_executor(), kPatience),
        measured_(measured),
        sniffer_({.policy = ppv2::Policy::require}, trusted) {}

  void start() {
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error) return;
      if (!self->has_decided()) return self->refuse(self->sniffer_.on_timeout());
      self->finish();
    });
    read_header();
  }

 private:
  [[nodiscard]] bool has_decided() const { return sniffer_.verdict().action != ppv2::Action::wait; }

  void read_header() {
    socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](const error_code& error, std::size_t n) {
      self->on_bytes(error, n);
    });
  }

  void on_bytes(const error_code& error, std::size_t n) {
    if (has_decided()) return;  // the deadline's handler ran while this one was in the queue
    if (error && error != asio::error::eof) return finish();
    const ppv2::Bytes bytes(chunk_.data(), n);
    const ppv2::Step step = n > 0 ? sniffer_.feed(bytes) : sniffer_.on_eof();
    if (step.action == ppv2::Action::wait) return read_header();
    if (step.action == ppv2::Action::reject) return refuse(step);
    for (const ppv2::Bytes part : {sniffer_.pushback(), bytes.subspan(step.consumed)})
      request_.append(reinterpret_cast<const char*>(part.data()), part.size());
    read_request();
  }

  void read_request() {
    asio::async_read_until(socket_, asio::dynamic_buffer(request_, kLongestRequest), "\r\n\r\n",
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (error) return self->finish();
                             self->answer();
                           });
  }

  void answer() {
    std::array<char, ppv2::kAddressTextSize> text{};
    const std::string body = "hello " + std::string(sniffer_.effective(measured_).text(text)) + "\n";
    answer_ = "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    asio::async_write(socket_, asio::buffer(answer_),
                      [self = shared_from_this()](const error_code&, std::size_t) { self->finish(); });
  }

  void refuse(const ppv2::Step& step) {
    std::fprintf(stderr, "refused at byte %u: %s\n", step.offset, ppv2::text(step.reason).data());
    finish();
  }

  // Ends every operation, and with the last of them the session.
  void finish() {
    error_code ignored;
    socket_.close(ignored);
    deadline_.cancel();
  }

  tcp::socket socket_;
  asio::steady_timer deadline_;
  ppv2::Address measured_;
  ppv2::Sniffer sniffer_;
  std::array<std::byte, 4096> chunk_{};
  std::string request_;
  std::string answer_;
};

// The endpoint is filled by accept itself: remote_endpoint() fails once a client has gone.
void accept_next(tcp::acceptor& acceptor, tcp::endpoint& peer, const ppv2::Cidr& proxies) {
  acceptor.async_accept(peer, [&acceptor, &peer, proxies](const error_code& error, tcp::socket socket) {
    if (!error) {
      const auto measured = ppv2::Address::from(peer.data(), static_cast<socklen_t>(peer.size()));
      std::make_shared<Session>(std::move(socket), measured, proxies.contains(measured))->start();
    }
    accept_next(acceptor, peer, proxies);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto proxies = ppv2::Cidr::parse(argc == 2 ? argv[1] : "");
  if (!proxies) return std::fprintf(stderr, "usage: %s TRUSTED_CIDR\n", argv[0]), 2;
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  tcp::endpoint peer;
  accept_next(acceptor, peer, *proxies);
  context.run();
}
