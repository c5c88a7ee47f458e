#include "admin/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "sys/descriptor.h"

namespace ravelin::admin {
namespace {

// Answers up to this size are given even to the last connection when others leave large ones lying: health can always
// be asked for.
constexpr std::size_t kSmallAnswer = 64 << 10;

// What a client must take of an answer until each deadline to be given another one: a machine under load is slow, a
// client that stopped reading is not.
constexpr std::size_t kLeastTaken = 1 << 20;

struct Reason {
  unsigned status;
  std::string_view phrase;
};

constexpr Reason kReasons[] = {
    {200, "OK"},
    {202, "Accepted"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

// RFC 9112, 4: the phrase may be empty.
std::string_view phrase_for(unsigned status) {
  const auto* found = std::ranges::find(kReasons, status, &Reason::status);
  return found == std::end(kReasons) ? std::string_view() : found->phrase;
}

// RFC 9110, 5.6.7. The programs never leave the "C" locale, whose names of days and months are the ones asked for.
std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

std::string head_of(const Response& response, bool close_after) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Connection: {}\r\n",
      response.status, phrase_for(response.status), date_now(), response.content_type, response.body.size(),
      close_after ? "close" : "keep-alive");
  if (!response.allow.empty()) head += fmt::format("Allow: {}\r\n", response.allow);
  return head + "\r\n";
}

}  // namespace

Connection::Connection(ConnectionContext& context, sys::UniqueFd fd, const sys::SocketAddress& peer)
    : context_(context),
      fd_(std::move(fd)),
      peer_(peer),
      reader_(context.limits.header_bytes, context.limits.body_bytes),
      input_(2 * context.limits.header_bytes) {
  poll_.emplace(context.loop, fd_.get(), [this](int status, int events) { on_ready(status, events); });
  timer_.emplace(context.loop, [this] { on_deadline(); });
  enter(Phase::reading, context.limits.idle);
  poll_->start(UV_READABLE);
}

Connection::~Connection() {
  forget_answer();
}

bool Connection::awaits(std::uint64_t exchange) const {
  return phase_ == Phase::handling && exchange == exchange_;
}

std::optional<std::uint64_t> Connection::spare_since() const {
  if (phase_ == Phase::parting) return phase_since_;
  // A request may be here that the loop has not come to yet.
  const bool silent = phase_ == Phase::reading && !request_begun_ && sys::readable_bytes(fd_.get()).value_or(0) == 0;
  return silent ? std::optional(phase_since_) : std::nullopt;
}

void Connection::enter(Phase phase, std::chrono::milliseconds deadline) {
  phase_ = phase;
  phase_since_ = uv_now(context_.loop.raw());
  timer_->start(deadline);
}

void Connection::on_ready(int status, int events) {
  const auto self = shared_from_this();
  if (status < 0) return close();
  switch (phase_) {
    case Phase::reading:
      if (events & UV_READABLE) receive();
      if (phase_ == Phase::reading) read_request();
      break;
    case Phase::answering:
      write_answer();
      break;
    case Phase::parting:
      discard();
      break;
    case Phase::handling:
    case Phase::closed:
      break;
  }
}

void Connection::on_deadline() {
  const auto self = shared_from_this();
  switch (phase_) {
    case Phase::reading:
      if (request_begun_) return refuse(408, "the request did not arrive in time");
      return close();
    case Phase::handling:
      context_.log.line(sys::LogLevel::warning, "admin_answer_late").field("target", reader_.target());
      return answer(exchange_, text_response(503, "no answer in time"));
    case Phase::answering:
      if (sent_ - sent_before_ < kLeastTaken) return abandon();
      sent_before_ = sent_;
      return timer_->start(context_.limits.taking);
    case Phase::parting:
      return close();
    case Phase::closed:
      break;
  }
}

void Connection::receive() {
  const ssize_t got = ::recv(fd_.get(), input_.data() + input_size_, input_.size() - input_size_, 0);
  if (got > 0) {
    input_size_ += static_cast<std::size_t>(got);
  } else if (got == 0) {
    input_ended_ = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    close();
  }
}

void Connection::read_request() {
  if (input_size_ > 0 && !request_begun_) {
    request_begun_ = true;
    enter(Phase::reading, context_.limits.request);
  }
  const auto step = reader_.feed({input_.data(), input_size_});
  input_size_ -= step.consumed;
  std::memmove(input_.data(), input_.data() + step.consumed, input_size_);
  switch (step.state) {
    case RequestReader::State::complete:
      return serve_request();
    case RequestReader::State::refused:
      return refuse(step.status, step.why);
    case RequestReader::State::need_more:
      break;
  }
  if (input_ended_) return close();
  if (input_size_ == input_.size()) return refuse(431, "a part of the request is too large");
  if (reader_.take_expectation()) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    // Lost when the client reads nothing; it then waits for as long as it wants to, and sends its body.
    [[maybe_unused]] const ssize_t sent = ::send(fd_.get(), kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  }
  poll_->start(UV_READABLE);
}

void Connection::serve_request() {
  poll_->stop();
  enter(Phase::handling, context_.limits.handler);
  ++exchange_;
  close_after_ = !reader_.keeps_alive();
  head_only_ = reader_.method() == "HEAD";
  auto target = Target::parse(reader_.target());
  if (!target) return answer(exchange_, text_response(400, target.error().text()));
  const Request request{.method = head_only_ ? "GET" : std::string(reader_.method()),
                        .target = std::move(*target),
                        .body = reader_.take_body(),
                        .peer = peer_};
  context_.serve(request, Reply(weak_from_this(), exchange_));
}

void Connection::refuse(unsigned status, std::string_view why) {
  poll_->stop();
  enter(Phase::handling, context_.limits.handler);
  ++exchange_;
  close_after_ = true;
  head_only_ = false;
  answer(exchange_, text_response(status, why));
}

void Connection::answer(std::uint64_t exchange, Response response) {
  if (!awaits(exchange)) return;
  const bool is_small = response.body.size() <= kSmallAnswer;
  if (!is_small && context_.answer_bytes + response.body.size() > context_.limits.answer_bytes) {
    response = text_response(503, "too many answers wait to be taken");
  }
  head_ = head_of(response, close_after_);
  body_ = head_only_ ? std::string() : std::move(response.body);
  sent_ = 0;
  sent_before_ = 0;
  counted_ = body_.size();
  context_.answer_bytes += counted_;
  enter(Phase::answering, context_.limits.taking);
  write_answer();
}

void Connection::write_answer() {
  const std::size_t head_sent = std::min(sent_, head_.size());
  const std::size_t body_sent = sent_ - head_sent;
  std::array<iovec, 2> parts{iovec{.iov_base = head_.data() + head_sent, .iov_len = head_.size() - head_sent},
                             iovec{.iov_base = body_.data() + body_sent, .iov_len = body_.size() - body_sent}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t written = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  if (written < 0 && errno != EAGAIN && errno != EINTR) return close();
  if (written > 0) sent_ += static_cast<std::size_t>(written);
  if (sent_ == head_.size() + body_.size()) return after_answer();
  poll_->start(UV_WRITABLE);
}

void Connection::after_answer() {
  forget_answer();
  if (close_after_) return part();
  if (input_ended_ && input_size_ == 0) return close();
  reader_.next();
  request_begun_ = false;
  enter(Phase::reading, context_.limits.idle);
  // A request that is here already gets its turn in the loop's next round, not in this one.
  poll_->start(input_size_ > 0 ? UV_WRITABLE : UV_READABLE);
}

// tcp(7): closing with unread input resets the connection, and the reset can overtake the answer. So the client is told
// that nothing follows, and what it still sends is thrown away until it closes or its time is over.
void Connection::part() {
  input_size_ = 0;
  if (input_ended_ || ::shutdown(fd_.get(), SHUT_WR) != 0) return close();
  enter(Phase::parting, context_.limits.parting);
  poll_->start(UV_READABLE);
}

void Connection::discard() {
  const ssize_t got = ::recv(fd_.get(), input_.data(), input_.size(), 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) close();
}

void Connection::forget_answer() {
  context_.answer_bytes -= std::exchange(counted_, 0);
  head_ = {};
  body_ = {};
}

// socket(7), SO_LINGER: with a time of zero the kernel forgets what the client has not taken; otherwise it would keep
// it for as long as the client keeps its window shut.
void Connection::abandon() {
  (void)sys::set_option(fd_.get(), SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
  close();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  forget_answer();
  poll_.reset();
  timer_.reset();
  fd_.reset();
  context_.closed(*this);
}

}  // namespace ravelin::admin
