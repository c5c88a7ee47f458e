#include "admin/client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>

#include "sys/descriptor.h"
#include "sys/unique_fd.h"

namespace ravelin::admin {
namespace http = boost::beast::http;
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kHeaderLimit = 64 << 10;
constexpr std::uint64_t kBodyLimit = 256 << 20;
constexpr int kBacklogPause = 20;  // milliseconds

// Waits until the socket is ready for `events`, its errors included.
sys::Result<void> wait_for(int fd, short events, Clock::time_point until) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready = left > 0 ? ::poll(&entry, 1, static_cast<int>(std::min<long>(left, 1 << 30))) : 0;
    if (ready > 0) return {};
    if (ready == 0) return sys::fail(ETIMEDOUT, "no answer");
    if (errno != EINTR) return sys::fail(errno, "poll");
  }
}

sys::Result<sys::UniqueFd> connect_to(const sys::Endpoint& endpoint, Clock::time_point until) {
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (endpoint.is_unix()) {
    const auto filled = sys::unix_address(endpoint.path, storage);
    if (!filled) return tl::unexpected(filled.error());
    length = *filled;
  } else {
    const auto address = endpoint.literal();
    if (!address) return sys::fail(EINVAL, "not a literal address");
    length = address->to(storage);
  }
  sys::UniqueFd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return sys::fail(errno, "socket");
  while (::connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0) {
    if (errno == EINPROGRESS) {
      if (auto ready = wait_for(fd.get(), POLLOUT, until); !ready) return tl::unexpected(ready.error());
      const int error = sys::get_option<int>(fd.get(), SOL_SOCKET, SO_ERROR).value_or(EIO);
      if (error != 0) return sys::fail(error, "connect");
      break;
    }
    if (errno != EAGAIN) return sys::fail(errno, "connect");
    // unix(7): a full backlog is EAGAIN, and nothing tells when it is less full.
    if (Clock::now() >= until) return sys::fail(ETIMEDOUT, "connect");
    ::poll(nullptr, 0, kBacklogPause);
  }
  return fd;
}

std::string wire_form(const sys::Endpoint& endpoint, const Question& question) {
  return fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}", question.method,
                     question.target, endpoint.is_unix() ? "localhost" : endpoint.text(), question.body.size(),
                     question.body);
}

// Stops early when the server no longer reads: it has then said why, and that is read next.
sys::Result<void> write_all(int fd, std::string_view bytes, Clock::time_point until) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(fd, POLLOUT, until); !ready) return ready;
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};
    } else if (errno != EINTR) {
      return sys::fail(errno, "send");
    }
  }
  return {};
}

sys::Result<Answer> read_answer(int fd, bool without_body, Clock::time_point until) {
  http::response_parser<http::string_body> parser;
  parser.header_limit(kHeaderLimit);
  parser.body_limit(kBodyLimit);
  parser.eager(true);
  parser.skip(without_body);
  std::string waiting;
  std::array<char, 64 << 10> buffer;
  while (!parser.is_done()) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (auto ready = wait_for(fd, POLLIN, until); !ready) return tl::unexpected(ready.error());
      continue;
    }
    if (got < 0) return sys::fail(errno, "recv");
    boost::system::error_code error;
    if (got == 0) {
      if (parser.got_some()) parser.put_eof(error);
      if (error || !parser.is_done()) return sys::fail(EPROTO, "the answer ends early");
      break;
    }
    waiting.append(buffer.data(), static_cast<std::size_t>(got));
    while (!waiting.empty() && !parser.is_done()) {
      const std::size_t taken = parser.put(boost::asio::const_buffer(waiting.data(), waiting.size()), error);
      waiting.erase(0, taken);
      if (error == http::error::need_more || (!error && taken == 0)) break;
      if (error) return sys::fail(EPROTO, "the answer is not HTTP ({})", error.message());
    }
  }
  auto& message = parser.get();
  const auto type = message[http::field::content_type];
  return Answer{.status = message.result_int(),
                .content_type = std::string(type.data(), type.size()),
                .body = std::move(message.body())};
}

}  // namespace

sys::Result<Answer> ask(const sys::Endpoint& endpoint, const Question& question, std::chrono::milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  const auto named = [&](const sys::Error& error) {
    return sys::fail(error.code, "{}: {}", endpoint.text(), error.what);
  };
  const auto fd = connect_to(endpoint, until);
  if (!fd) return named(fd.error());
  const auto written = write_all(fd->get(), wire_form(endpoint, question), until);
  if (!written) return named(written.error());
  auto answer = read_answer(fd->get(), question.method == "HEAD", until);
  if (!answer) return named(answer.error());
  return answer;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string result;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

}  // namespace ravelin::admin
