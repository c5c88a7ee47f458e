// A TLS server behind a proxy that passes ciphertext on: the PROXY header comes before the ClientHello, so it is taken
// off the socket before OpenSSL sees the socket. Usage: ppv2_tls_origin TRUSTED_CIDR CERTIFICATE KEY; prints its port
// on 127.0.0.1 and answers each HTTP request with the client's real address, one connection after the other.
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <ppv2/cidr.h>
#include <ppv2/decoder.h>
#include <ppv2/policy.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace {

constexpr std::chrono::seconds kPatience{3};

// The address to act on, or nothing if the connection must end. Looks at the bytes with MSG_PEEK and then consumes
// exactly the header, so that the handshake finds the stream at its first byte. SO_RCVLOWAT lets recv() sleep until
// more than what was seen has come; SO_RCVTIMEO ends a header that stays partial, and the loop's clock one that
// trickles.
std::optional<ppv2::Address> take_header(int fd, const ppv2::Address& measured, bool trusted) {
  std::array<std::byte, 4096> seen{};
  ppv2::Decoded decoded;
  ppv2::Verdict verdict;
  int wanted = 1;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (verdict.action == ppv2::Action::wait) {
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted);
    const ssize_t n = ::recv(fd, seen.data(), seen.size(), MSG_PEEK);
    if (n < 0) return std::nullopt;
    const bool more = n >= wanted;  // fewer: the peer will send nothing more
    decoded = ppv2::decode({seen.data(), static_cast<std::size_t>(n)});
    verdict = ppv2::decide({.policy = ppv2::Policy::require}, trusted, decoded,
                           more ? ppv2::Moment::bytes : ppv2::Moment::eof);
    wanted = static_cast<int>(decoded.wanted);
  }
  wanted = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof wanted);
  if (verdict.action != ppv2::Action::accept) {
    std::fprintf(stderr, "refused: %s\n", ppv2::text(verdict.reason).data());
    return std::nullopt;
  }
  if (::recv(fd, seen.data(), decoded.header_length, MSG_WAITALL) != static_cast<ssize_t>(decoded.header_length))
    return std::nullopt;
  return verdict.trusted && decoded.claim.source.is_ip() ? decoded.claim.source : measured;
}

void serve(SSL_CTX* context, int fd, const ppv2::Address& client) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context), SSL_free);
  char request[4096];
  if (SSL_set_fd(tls.get(), fd) != 1 || SSL_accept(tls.get()) != 1) return;
  if (SSL_read(tls.get(), request, sizeof request) <= 0) return;
  std::array<char, ppv2::kAddressTextSize> text{};
  const std::string body = "hello " + std::string(client.text(text)) + "\n";
  const std::string answer = "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
  SSL_shutdown(tls.get());
}

}  // namespace

int main(int argc, char** argv) {
  const auto proxies = ppv2::Cidr::parse(argc == 4 ? argv[1] : "");
  if (!proxies) return std::fprintf(stderr, "usage: %s TRUSTED_CIDR CERTIFICATE KEY\n", argv[0]), 2;
  std::signal(SIGPIPE, SIG_IGN);
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(), argv[2]) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), argv[3], SSL_FILETYPE_PEM) != 1)
    return std::fprintf(stderr, "cannot use %s with %s\n", argv[2], argv[3]), 1;
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in self{};
  self.sin_family = AF_INET;
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof self;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&self), length) != 0 || ::listen(listener, 128) != 0) return 1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&self), &length);
  std::printf("%d\n", ntohs(self.sin_port));
  std::fflush(stdout);
  while (true) {
    sockaddr_storage peer{};
    length = sizeof peer;
    const int fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const auto measured = ppv2::Address::from(reinterpret_cast<sockaddr*>(&peer), length);
    const auto client = take_header(fd, measured, proxies->contains(measured));
    if (client) serve(context.get(), fd, *client);
    ::close(fd);
  }
}
