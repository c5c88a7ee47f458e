#include <ppv2/policy.h>

#include <doctest/doctest.h>

#include "tests/unit/ppv2/vectors.h"

using ppv2::Action;
using ppv2::Moment;
using ppv2::Policy;
using ppv2::Reason;
using ppv2::Rules;
using ppv2::Untrusted;
using ppv2::Verdict;
using ppv2_test::bytes_of;

namespace {

const std::string kHeader = "PROXY TCP4 203.0.113.7 198.51.100.25 51512 443\r\n";
const std::string kBroken = "PROXY TCP4 0203.0.113.7 198.51.100.25 51512 443\r\n";
const std::string kHello = ppv2_test::from_hex("16030100c8010000c40303");

Verdict decide(Rules rules, bool trusted, std::string_view bytes, Moment moment = Moment::bytes) {
  return ppv2::decide(rules, trusted, ppv2::decode(bytes_of(bytes)), moment);
}

}  // namespace

TEST_CASE("require takes headers of trusted sources and nothing else") {
  const Rules rules{Policy::require};
  const Verdict header = decide(rules, true, kHeader);
  CHECK(header.action == Action::accept);
  CHECK(header.trusted);
  CHECK(decide(rules, true, kHello).reason == Reason::header_required);
  CHECK(decide(rules, true, kBroken).reason == Reason::v1_address);
  for (const auto& bytes : {kHeader, kHello, kBroken, std::string()})
    CHECK(decide(rules, false, bytes).reason == Reason::source_not_trusted);
  CHECK(ppv2::decide_unread(rules, false).action == Action::reject);
  CHECK(ppv2::decide_unread(rules, true).action == Action::wait);
}

TEST_CASE("sniff passes streams without a header and trusts only trusted sources") {
  const Rules rules{Policy::sniff};
  CHECK(decide(rules, true, kHeader).trusted);
  CHECK(decide(rules, true, kHello).action == Action::pass);
  CHECK(decide(rules, false, kHello).action == Action::pass);
  CHECK(decide(rules, false, kHeader).reason == Reason::source_not_trusted);
  const Verdict marked = decide({Policy::sniff, Untrusted::mark}, false, kHeader);
  CHECK(marked.action == Action::accept);
  CHECK(!marked.trusted);
  CHECK(decide({Policy::sniff, Untrusted::mark}, false, kBroken).action == Action::reject);
  CHECK(decide({Policy::sniff, Untrusted::pass}, false, kHeader).action == Action::pass);
  CHECK(decide({Policy::sniff, Untrusted::pass}, true, kHeader).trusted);
  CHECK(ppv2::decide_unread({Policy::sniff, Untrusted::pass}, false).action == Action::pass);
}

TEST_CASE("a port without the protocol refuses headers and lets everything else be") {
  const Rules rules{Policy::reject};
  for (const bool trusted : {true, false}) {
    CHECK(decide(rules, trusted, kHeader).reason == Reason::header_forbidden);
    CHECK(decide(rules, trusted, kHello).action == Action::pass);
    CHECK(decide(rules, trusted, kBroken).action == Action::pass);
    CHECK(decide(rules, trusted, "PROXY TCP4", Moment::timeout).action == Action::pass);
  }
}

TEST_CASE("silence passes under sniff and is refused under require, a header cut short is refused") {
  const Rules sniff{Policy::sniff};
  const Rules require{Policy::require};
  CHECK(decide(sniff, true, "", Moment::timeout).action == Action::pass);
  CHECK(decide(require, true, "", Moment::timeout).reason == Reason::timed_out);
  CHECK(decide(sniff, true, "PRO", Moment::timeout).reason == Reason::timed_out);
  CHECK(decide(sniff, true, "", Moment::bytes).action == Action::wait);
}

TEST_CASE("the end of the stream is judged as the vectors say") {
  for (const auto& vector : ppv2_test::load_vectors()) {
    if (vector.after_eof.empty()) continue;
    CAPTURE(vector.name);
    const Verdict verdict = decide({Policy::sniff}, true, vector.bytes, Moment::eof);
    CHECK(verdict.action == (vector.after_eof == "other" ? Action::pass : Action::reject));
  }
}
