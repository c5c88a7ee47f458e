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

TEST_CASE("every cell of the table: policy, source and what the bytes are") {
  struct Row {
    Rules rules;
    bool trusted;
    // Of a header, of a broken one, of a stream without one.
    Action header, broken, none;
  };
  constexpr auto kAccept = Action::accept, kPass = Action::pass, kEnd = Action::reject;
  constexpr Row kRows[] = {
      {{Policy::require, Untrusted::reject}, true, kAccept, kEnd, kEnd},
      {{Policy::require, Untrusted::reject}, false, kEnd, kEnd, kEnd},
      {{Policy::require, Untrusted::mark}, false, kEnd, kEnd, kEnd},
      {{Policy::require, Untrusted::pass}, false, kEnd, kEnd, kEnd},
      {{Policy::sniff, Untrusted::reject}, true, kAccept, kEnd, kPass},
      {{Policy::sniff, Untrusted::mark}, true, kAccept, kEnd, kPass},
      {{Policy::sniff, Untrusted::pass}, true, kAccept, kEnd, kPass},
      {{Policy::sniff, Untrusted::reject}, false, kEnd, kEnd, kPass},
      {{Policy::sniff, Untrusted::mark}, false, kAccept, kEnd, kPass},
      {{Policy::sniff, Untrusted::pass}, false, kPass, kPass, kPass},
      {{Policy::reject, Untrusted::reject}, true, kEnd, kPass, kPass},
      {{Policy::reject, Untrusted::mark}, false, kEnd, kPass, kPass},
      {{Policy::reject, Untrusted::pass}, false, kEnd, kPass, kPass},
  };
  for (const Row& row : kRows) {
    CAPTURE(static_cast<int>(row.rules.policy));
    CAPTURE(static_cast<int>(row.rules.untrusted));
    CAPTURE(row.trusted);
    const Verdict header = decide(row.rules, row.trusted, kHeader);
    CHECK(header.action == row.header);
    CHECK(header.trusted == (row.header == kAccept && row.trusted));
    CHECK(decide(row.rules, row.trusted, kBroken).action == row.broken);
    CHECK(decide(row.rules, row.trusted, kHello).action == row.none);
    // Nothing waits for ever: a deadline and an end decide whatever was seen.
    for (std::size_t size = 0; size < kHeader.size(); ++size)
      for (const Moment moment : {Moment::timeout, Moment::eof}) {
        const Verdict late = decide(row.rules, row.trusted, kHeader.substr(0, size), moment);
        CHECK(late.action != Action::wait);
        CHECK(late.action != Action::accept);
      }
  }
}

TEST_CASE("a port without the protocol refuses a v2 signature, whatever follows it") {
  const std::string broken = ppv2_test::from_hex("0d0a0d0a000d0a515549540a31");
  for (const bool trusted : {true, false}) {
    CHECK(decide({Policy::reject}, trusted, broken).reason == Reason::header_forbidden);
    CHECK(decide({Policy::reject}, trusted, broken.substr(0, 12), Moment::eof).reason == Reason::header_forbidden);
    CHECK(decide({Policy::reject}, trusted, broken.substr(0, 11), Moment::eof).action == Action::pass);
  }
}
