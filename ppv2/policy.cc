#include "ppv2/policy.h"

namespace ppv2 {
namespace {

// What a connection looks like to the policy at one moment.
enum Sight : std::uint8_t {
  kHeader,
  kBrokenV2,
  kBrokenV1,
  kNoHeader,
  kUndecided,     // waiting for bytes
  kLateSilent,    // the deadline passed: without a byte,
  kLatePrefix,    // with bytes that could still begin a header,
  kLateV2,        // behind a whole v2 signature
  kClosedSilent,  // the peer is done: without a byte,
  kClosedPrefix,  // too early to call it a header (section 4 asks for 8 and 12 bytes),
  kClosedV1,      // inside a v1 line,
  kClosedV2,      // inside a v2 header
  kSightCount,
};

enum Row : std::uint8_t {
  kReject,
  kRequireTrusted,
  kRequireOther,
  kSniffTrusted,
  kSniffReject,
  kSniffMark,
  kSniffPass,
  kRowCount
};

constexpr Verdict kWait{Action::wait};
constexpr Verdict kPass{Action::pass};
constexpr Verdict kTrust{Action::accept, true};
constexpr Verdict kMark{Action::accept, false};
constexpr Verdict kForbidden{Action::reject, false, Reason::header_forbidden};
constexpr Verdict kMissing{Action::reject, false, Reason::header_required};
constexpr Verdict kStranger{Action::reject, false, Reason::source_not_trusted};
constexpr Verdict kLate{Action::reject, false, Reason::timed_out};
constexpr Verdict kCut{Action::reject, false, Reason::closed};
constexpr Verdict kBroken{Action::reject, false, Reason::none};  // the decoder's reason is put in

constexpr Verdict kTable[kRowCount][kSightCount] = {
    // header    broken v2   broken v1  no header  undecided  late: silent prefix  v2          closed: silent prefix v1
    // v2
    {kForbidden, kForbidden, kPass, kPass, kWait, kPass, kPass, kForbidden, kPass, kPass, kPass, kForbidden},
    {kTrust, kBroken, kBroken, kMissing, kWait, kLate, kLate, kLate, kCut, kCut, kCut, kCut},
    {kStranger, kStranger, kStranger, kStranger, kStranger, kStranger, kStranger, kStranger, kStranger, kStranger,
     kStranger, kStranger},
    {kTrust, kBroken, kBroken, kPass, kWait, kPass, kLate, kLate, kPass, kPass, kCut, kCut},
    {kStranger, kBroken, kBroken, kPass, kWait, kPass, kLate, kLate, kPass, kPass, kCut, kCut},
    {kMark, kBroken, kBroken, kPass, kWait, kPass, kLate, kLate, kPass, kPass, kCut, kCut},
    {kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass, kPass},
};

Row row_of(Rules rules, bool trusted_source) noexcept {
  if (rules.policy == Policy::reject) return kReject;
  if (rules.policy == Policy::require) return trusted_source ? kRequireTrusted : kRequireOther;
  if (trusted_source) return kSniffTrusted;
  constexpr Row kRows[] = {kSniffReject, kSniffMark, kSniffPass};
  return kRows[static_cast<std::size_t>(rules.untrusted)];
}

Sight sight_of(const Decoded& decoded, Moment moment) noexcept {
  switch (decoded.outcome) {
    case Outcome::header:
      return kHeader;
    case Outcome::not_proxy:
      return kNoHeader;
    case Outcome::reject:
      return decoded.version == Version::v2 ? kBrokenV2 : kBrokenV1;
    case Outcome::need_more:
      break;
  }
  const bool silent = decoded.offset == 0;
  if (moment == Moment::bytes) return kUndecided;
  if (moment == Moment::timeout) return silent ? kLateSilent : decoded.version == Version::v2 ? kLateV2 : kLatePrefix;
  if (silent) return kClosedSilent;
  constexpr Sight kByVersion[] = {kClosedPrefix, kClosedV1, kClosedV2};
  return kByVersion[static_cast<std::size_t>(decoded.version)];
}

}  // namespace

Verdict decide(Rules rules, bool trusted_source, const Decoded& decoded, Moment moment) noexcept {
  Verdict verdict = kTable[row_of(rules, trusted_source)][sight_of(decoded, moment)];
  if (verdict.action == Action::reject && verdict.reason == Reason::none) verdict.reason = decoded.reason;
  return verdict;
}

Verdict decide_unread(Rules rules, bool trusted_source) noexcept {
  return kTable[row_of(rules, trusted_source)][kUndecided];
}

}  // namespace ppv2
