#include "sys/log.h"

#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "sys/signals.h"
#include "sys/unique_fd.h"

namespace ravelin::sys {
namespace {

constexpr std::size_t kWaitingLines = 8192;
constexpr int kLastWaitMs = 1000;  // for a reader that has stopped reading, when the program wants to end

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// One write(2) a line: a pipe takes lines below PIPE_BUF whole, so those of several processes never mix.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DescriptorSink(int fd) : fd_(fd), ending_(::eventfd(0, EFD_CLOEXEC)) {}

  // From now on a reader who does not read is waited for no longer than kLastWaitMs. Any thread.
  void finish() { ::eventfd_write(ending_.get(), 1); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    const char* next = text.data();
    std::size_t left = text.size();
    while (left > 0) {
      if (!has_room()) return;
      // More than PIPE_BUF could block although there is room.
      const ssize_t written = ::write(fd_, next, std::min<std::size_t>(left, PIPE_BUF));
      if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // nobody is left to tell
      if (written < 0) continue;
      next += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  void flush_() override {}

 private:
  // Waits until a write goes through or fails. False: the program ends and its reader has stopped reading.
  bool has_room() {
    std::array<pollfd, 2> awaited{pollfd{fd_, POLLOUT, 0}, pollfd{ending_.get(), POLLIN, 0}};
    while (!stalled_ && ::poll(awaited.data(), awaited.size(), -1) < 0 && errno == EINTR) continue;
    if (!stalled_ && awaited[0].revents == 0) stalled_ = ::poll(awaited.data(), 1, kLastWaitMs) == 0;
    return !stalled_;
  }

  int fd_;
  UniqueFd ending_;
  bool stalled_ = false;
};

bool is_plain(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e || c == '"' || c == '\\') return false;
  }
  return true;
}

// A JSON string. Bytes that are not UTF-8 become U+FFFD: a log line is always valid JSON.
std::string quoted(std::string_view text) {
  if (is_plain(text)) return fmt::format("\"{}\"", text);
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

struct Log::Sink {
  std::shared_ptr<spdlog::details::thread_pool> pool = std::make_shared<spdlog::details::thread_pool>(kWaitingLines, 1);
  std::shared_ptr<DescriptorSink> output;
  std::shared_ptr<spdlog::async_logger> logger;
};

LogLine::LogLine(Log* log, LogLevel level, std::string_view event) : log_(log), level_(level) {
  if (log_ == nullptr) return;
  if (log_->format_ == LogFormat::json) {
    fmt::format_to(fmt::appender(text_), "\"event\":\"{}\"", event);
  } else {
    text_.append(event);
  }
}

LogLine::~LogLine() {
  if (log_ != nullptr) log_->sink_->logger->log(to_spdlog(level_), spdlog::string_view_t(text_.data(), text_.size()));
}

void LogLine::name_of(std::string_view name) {
  fmt::format_to(fmt::appender(text_), fmt::runtime(log_->format_ == LogFormat::json ? ",\"{}\":" : " {}="), name);
}

LogLine& LogLine::field(std::string_view name, std::string_view value) {
  if (log_ == nullptr) return *this;
  const bool bare =
      log_->format_ == LogFormat::text && !value.empty() && is_plain(value) && value.find(' ') == value.npos;
  return raw(name, bare ? value : quoted(value));
}

LogLine& LogLine::raw(std::string_view name, std::string_view value) {
  if (log_ == nullptr) return *this;
  name_of(name);
  text_.append(value);
  return *this;
}

Log::Log(LogFormat format, LogLevel least, int fd) : format_(format) {
  const SignalsBlocked blocked;  // while the log's thread is made
  sink_ = std::make_unique<Sink>();
  sink_->output = std::make_shared<DescriptorSink>(fd);
  sink_->logger = std::make_shared<spdlog::async_logger>("ravelin", sink_->output, sink_->pool,
                                                         spdlog::async_overflow_policy::overrun_oldest);
  sink_->logger->set_pattern(
      format == LogFormat::json ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
  set_level(least);
}

Log::~Log() {
  finish();
}

void Log::finish() {
  if (!sink_) return;
  sink_->output->finish();
  sink_.reset();
}

bool Log::enabled(LogLevel level) const {
  return sink_->logger->should_log(to_spdlog(level));
}
void Log::set_level(LogLevel least) {
  sink_->logger->set_level(to_spdlog(least));
}
std::uint64_t Log::dropped() const {
  return sink_->pool->overrun_counter();
}

}  // namespace ravelin::sys
