#include <ppv2/sniffer.h>

#include <doctest/doctest.h>
#include <ppv2/counters.h>
#include <ppv2/encoder.h>

#include <array>

#include "tests/unit/ppv2/vectors.h"

using namespace ppv2_test;
using ppv2::Action;
using ppv2::Policy;
using ppv2::Reason;
using ppv2::Sniffer;
using ppv2::Step;
using ppv2::Untrusted;

namespace {

struct Run {
  Step step;
  std::string payload;  // what the next layer gets: pushed back, then the rest
  bool has_claim = false;
};

// Feeds `bytes` in pieces of `piece` until the decision.
Run sniff(std::string_view bytes, std::size_t piece, ppv2::Rules rules = {Policy::sniff}, bool trusted = true) {
  std::vector<std::byte> overflow(4096);
  Sniffer sniffer(rules, trusted, {}, overflow);
  Run run;
  std::size_t at = 0;
  while (run.step.action == Action::wait && at < bytes.size()) {
    const auto next = bytes.substr(at, piece);
    run.step = sniffer.feed(Exact(next));
    at += run.step.consumed;
    if (run.step.action == Action::wait) REQUIRE(run.step.consumed == next.size());
  }
  if (run.step.action == Action::wait) run.step = sniffer.on_eof();
  const ppv2::Bytes back = sniffer.pushback();
  run.payload.assign(reinterpret_cast<const char*>(back.data()), back.size());
  if (run.step.action != Action::reject) run.payload += bytes.substr(at);
  run.has_claim = sniffer.claim() != nullptr;
  return run;
}

}  // namespace

TEST_CASE("however a stream is cut, the next layer gets its bytes once, in order and without the header") {
  for (const Vector& vector : load_vectors()) {
    CAPTURE(vector.name);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}, vector.bytes.size()}) {
      const Run run = sniff(vector.bytes, piece);
      if (vector.is_header()) {
        REQUIRE(run.step.action == Action::accept);
        CHECK(run.has_claim);
        CHECK(run.payload == vector.bytes.substr(vector.header_length));
      } else if (vector.outcome == "reject") {
        REQUIRE(run.step.action == Action::reject);
        CHECK(run.payload.empty());
      } else if (vector.outcome != "need-more") {
        REQUIRE(run.step.action == Action::pass);
        CHECK(run.payload == vector.bytes);
        CHECK(!run.has_claim);
      }
    }
  }
}

TEST_CASE("a header longer than the sniffer's own buffer needs the caller's") {
  std::array<std::byte, 4096> out;
  const std::size_t size = ppv2::Encoder::local(out).tlv(0xE5, std::string(600, 'y')).finish();
  Sniffer small({Policy::sniff}, true);
  const Step refused = small.feed({out.data(), 16});
  CHECK(refused.reason == Reason::header_too_long);
  std::array<std::byte, 700> overflow;
  Sniffer large({Policy::sniff}, true, {}, overflow);
  CHECK(large.feed({out.data(), 100}).action == Action::wait);
  CHECK(large.feed({out.data() + 100, size - 100}).action == Action::accept);
  CHECK(large.claim()->tlvs.find(0xE5)->value.size() == 600);
}

TEST_CASE("a claim from a source that is not trusted is never the effective address") {
  const std::string line = "PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n";
  const auto measured = *ppv2::Address::parse("192.0.2.66:9");
  Sniffer marked({Policy::sniff, Untrusted::mark}, false);
  CHECK(marked.feed(bytes_of(line)).action == Action::accept);
  REQUIRE(marked.claim() != nullptr);
  CHECK(!marked.claim_trusted());
  CHECK(marked.effective(measured) == measured);
  Sniffer trusted({Policy::sniff}, true);
  CHECK(trusted.feed(bytes_of(line)).action == Action::accept);
  CHECK(trusted.effective(measured) == *ppv2::Address::parse("203.0.113.7:51512"));
}

TEST_CASE("some connections are decided before a byte is read") {
  Sniffer stranger({Policy::require}, false);
  CHECK(stranger.feed(bytes_of("PROXY")).reason == Reason::source_not_trusted);
  Sniffer untouched({Policy::sniff, Untrusted::pass}, false);
  const Step step = untouched.feed(bytes_of("PROXY TCP4"));
  CHECK(step.action == Action::pass);
  CHECK(step.consumed == 0);
  CHECK(untouched.pushback().empty());
}

TEST_CASE("the deadline ends a half header and lets silence pass where that is allowed") {
  Sniffer half({Policy::sniff}, true);
  CHECK(half.feed(bytes_of("PROXY TC")).action == Action::wait);
  CHECK(half.on_timeout().reason == Reason::timed_out);
  CHECK(half.feed(bytes_of("P4 ")).action == Action::reject);
  Sniffer silent({Policy::sniff}, true);
  CHECK(silent.on_timeout().action == Action::pass);
  Sniffer required({Policy::require}, true);
  CHECK(required.on_timeout().reason == Reason::timed_out);
  CHECK(required.on_eof().reason == Reason::timed_out);
}

TEST_CASE("every outcome is counted by version, trust and reason") {
  ppv2::Counters counters;
  const auto run = [&counters](std::string_view bytes, bool trusted) {
    Sniffer sniffer({Policy::sniff}, trusted);
    (void)sniffer.feed(bytes_of(bytes));
    counters.count(sniffer.verdict(), sniffer.version(), trusted);
  };
  run("PROXY UNKNOWN\r\n", true);
  run("PROXY UNKNOWN\r\n", false);
  run("PROXY TCP5 ", true);
  run("GET / HTTP/1.1\r\n", true);
  run("GET / HTTP/1.1\r\n", false);
  run("PRO", true);
  CHECK(counters.accepted(ppv2::Version::v1, true) == 1);
  CHECK(counters.accepted(ppv2::Version::v1, false) == 0);
  CHECK(counters.rejected(ppv2::Version::v1, false) == 1);
  CHECK(counters.rejected_for(Reason::source_not_trusted) == 1);
  CHECK(counters.rejected_for(Reason::v1_family) == 1);
  CHECK(counters.passed(ppv2::Version::none, true) == 1);
  CHECK(counters.passed(ppv2::Version::none, false) == 1);
  CHECK(counters.passed(ppv2::Version::v1, true) == 0);
}
