#include "admin/request_reader.h"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace ravelin::admin {
namespace http = boost::beast::http;
namespace {

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

unsigned status_for(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

}  // namespace

struct RequestReader::Parser {
  http::request_parser<http::string_body> http;
};

RequestReader::RequestReader(std::size_t header_limit, std::size_t body_limit)
    : header_limit_(header_limit), body_limit_(body_limit) {
  next();
}

RequestReader::~RequestReader() = default;

void RequestReader::next() {
  parser_ = std::make_unique<Parser>();
  parser_->http.header_limit(static_cast<std::uint32_t>(header_limit_));
  parser_->http.body_limit(body_limit_);
  parser_->http.eager(true);
  expectation_seen_ = false;
}

RequestReader::Step RequestReader::feed(std::string_view bytes) {
  Step step;
  auto& http = parser_->http;
  while (step.consumed < bytes.size() && !http.is_done()) {
    boost::system::error_code error;
    const std::string_view rest = bytes.substr(step.consumed);
    const std::size_t taken = http.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
    step.consumed += taken;
    if (error == http::error::need_more) break;
    if (error) {
      step.state = State::refused;
      step.status = status_for(error);
      step.why = error.message();
      return step;
    }
    if (taken == 0) break;
  }
  if (!http.is_done()) return step;
  // RFC 9112, 3.2: a request of HTTP/1.1 without exactly one Host field is answered with 400.
  const auto hosts = http.get().count(http::field::host);
  if (hosts > 1 || (hosts == 0 && !is_http_1_0())) {
    step.state = State::refused;
    step.status = 400;
    step.why = "a request needs one Host field";
    return step;
  }
  step.state = State::complete;
  return step;
}

std::string_view RequestReader::method() const {
  return view(parser_->http.get().method_string());
}
std::string_view RequestReader::target() const {
  return view(parser_->http.get().target());
}
std::string RequestReader::take_body() {
  return std::move(parser_->http.get().body());
}
bool RequestReader::keeps_alive() const {
  return parser_->http.get().keep_alive();
}
bool RequestReader::is_http_1_0() const {
  return parser_->http.get().version() < 11;
}

bool RequestReader::take_expectation() {
  if (expectation_seen_ || !parser_->http.is_header_done() || parser_->http.is_done()) return false;
  expectation_seen_ = true;
  const auto value = parser_->http.get()[http::field::expect];
  return !is_http_1_0() && boost::beast::iequals(value, "100-continue");
}

}  // namespace ravelin::admin
