#include "profiler_service/cluster/convert.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"

namespace sassay::cluster {

using sassay::v1::HoldOfGpu;
using sassay::v1::Leased;
using sassay::v1::LeaseId;
using sassay::v1::ProvisionalTiming;
using sassay::v1::RenewalOutcome;
using store::BadWindow;
using store::Ended;
using store::Ending;
using store::Hold;
using store::Lease;
using store::Provisional;
using store::Renewal;

absl::Status CheckNodeName(absl::string_view field, const std::string& name) {
  constexpr size_t kMostBytes = 64;
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && name.size() <= kMostBytes && std::all_of(name.begin(), name.end(), plain)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(field, ": expected 1 to ", kMostBytes,
                                                 " letters, digits, '.', '_' or '-', got '",
                                                 absl::CEscape(name.substr(0, kMostBytes)), "'"));
}

LeaseId LeaseIdOf(const Lease& lease) {
  LeaseId id;
  id.set_submission_id(lease.submission.id);
  id.set_epoch(lease.epoch);
  uint64_t number = 0;
  id.set_number(absl::SimpleAtoi(lease.owner, &number) ? number : 0);
  return id;
}

Leased ToProto(const Lease& lease, uint64_t number, absl::Time now) {
  const store::Submission& submission = lease.submission;
  Leased leased;
  leased.mutable_lease()->set_submission_id(submission.id);
  leased.mutable_lease()->set_epoch(lease.epoch);
  leased.mutable_lease()->set_number(number);
  leased.set_tenant(submission.tenant);
  *leased.mutable_request() = submission.request;
  leased.set_unreadable(!submission.readable);
  SetTimestamp(submission.accepted_at, *leased.mutable_accepted_at());
  leased.set_run_deadline_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(submission.run_deadline)));
  leased.set_attempt(submission.attempt);
  leased.set_failures(submission.failures);
  leased.set_losses(submission.losses);
  leased.set_exclusions(submission.exclusions);
  leased.set_last_sequence(submission.last_sequence);
  leased.set_lease_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(lease.expires_at - now)));
  leased.set_cancelling(submission.cancelling);
  return leased;
}

Lease FromProto(const Leased& leased, absl::Time now) {
  Lease lease;
  store::Submission& submission = lease.submission;
  submission.id = leased.lease().submission_id();
  submission.tenant = leased.tenant();
  submission.request = leased.request();
  submission.readable = !leased.unreadable();
  submission.state = store::State::kLeased;
  submission.accepted_at = TimeOf(leased.accepted_at());
  submission.queue_deadline = absl::InfiniteFuture();
  submission.run_deadline = absl::Nanoseconds(leased.run_deadline_ns());
  submission.attempt = leased.attempt();
  submission.failures = leased.failures();
  submission.losses = leased.losses();
  submission.exclusions = leased.exclusions();
  submission.last_sequence = leased.last_sequence();
  submission.cancelling = leased.cancelling();
  lease.owner = absl::StrCat(leased.lease().number());
  lease.epoch = leased.lease().epoch();
  lease.expires_at = now + absl::Nanoseconds(leased.lease_ns());
  return lease;
}

sassay::v1::EndingFacts ToProto(const Ending& ending) {
  sassay::v1::EndingFacts facts;
  facts.set_gpu(ending.gpu);
  if (ending.seated_at < absl::InfiniteFuture()) SetTimestamp(ending.seated_at, *facts.mutable_seated_at());
  facts.set_max_exclusions(ending.max_exclusions);
  return facts;
}

Ending FromProto(const sassay::v1::EndingFacts& facts) {
  Ending ending;
  ending.gpu = facts.gpu();
  if (facts.has_seated_at()) ending.seated_at = TimeOf(facts.seated_at());
  ending.max_exclusions = facts.max_exclusions();
  return ending;
}

sassay::v1::Window ToProto(const BadWindow& window) {
  sassay::v1::Window proto;
  proto.set_gpu(window.gpu);
  SetTimestamp(window.from, *proto.mutable_from());
  if (window.to < absl::InfiniteFuture()) SetTimestamp(window.to, *proto.mutable_to());
  proto.set_incident_id(window.incident_id);
  proto.set_reason(window.reason);
  return proto;
}

BadWindow FromProto(const sassay::v1::Window& proto) {
  BadWindow window;
  window.gpu = proto.gpu();
  window.from = TimeOf(proto.from());
  if (proto.has_to()) window.to = TimeOf(proto.to());
  window.incident_id = proto.incident_id();
  window.reason = proto.reason();
  return window;
}

HoldOfGpu ToProto(const Hold& hold) {
  HoldOfGpu proto;
  proto.set_gpu(hold.gpu);
  sassay::v1::Hold& what = *proto.mutable_hold();
  what.set_holder(hold.holder);
  what.set_state(hold.state);
  what.set_reason(hold.reason);
  what.set_incident_id(hold.incident_id);
  SetTimestamp(hold.since, *what.mutable_since());
  what.set_actor(hold.actor);
  return proto;
}

Hold FromProto(const HoldOfGpu& proto) {
  const sassay::v1::Hold& what = proto.hold();
  return {proto.gpu(),        what.holder(),        what.state(), what.reason(),
          what.incident_id(), TimeOf(what.since()), what.actor()};
}

ProvisionalTiming ToProto(const Provisional& timing) {
  ProvisionalTiming proto;
  proto.set_submission_id(timing.id);
  proto.set_attempt(timing.attempt);
  proto.set_gpu(timing.gpu);
  SetTimestamp(timing.ended_at, *proto.mutable_ended_at());
  SetTimestamp(timing.seated_at, *proto.mutable_seated_at());
  return proto;
}

Provisional FromProto(const ProvisionalTiming& proto) {
  return {proto.submission_id(), proto.attempt(), proto.gpu(), TimeOf(proto.ended_at()), TimeOf(proto.seated_at())};
}

absl::StatusOr<sassay::v1::AttemptEnd> ToProto(Ended ended) {
  switch (ended) {
    case Ended::kStopped:
      return sassay::v1::ATTEMPT_END_STOPPED;
    case Ended::kFailed:
      return sassay::v1::ATTEMPT_END_FAILED;
    case Ended::kExcluded:
      return sassay::v1::ATTEMPT_END_EXCLUDED;
    case Ended::kKilled:
    case Ended::kCrashed:
      break;
  }
  return absl::InvalidArgumentError("a node does not say of its own attempts that their process died");
}

absl::StatusOr<Ended> FromProto(sassay::v1::AttemptEnd end) {
  switch (end) {
    case sassay::v1::ATTEMPT_END_STOPPED:
      return Ended::kStopped;
    case sassay::v1::ATTEMPT_END_FAILED:
      return Ended::kFailed;
    case sassay::v1::ATTEMPT_END_EXCLUDED:
      return Ended::kExcluded;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("end: expected STOPPED, FAILED or EXCLUDED, got enum value ", static_cast<int>(end)));
  }
}

RenewalOutcome ToProto(Renewal renewal) {
  switch (renewal) {
    case Renewal::kRenewed:
      return sassay::v1::RENEWAL_OUTCOME_RENEWED;
    case Renewal::kCancelling:
      return sassay::v1::RENEWAL_OUTCOME_CANCELLING;
    case Renewal::kLost:
      break;
  }
  return sassay::v1::RENEWAL_OUTCOME_LOST;
}

Renewal FromProto(RenewalOutcome outcome) {
  if (outcome == sassay::v1::RENEWAL_OUTCOME_RENEWED) return Renewal::kRenewed;
  return outcome == sassay::v1::RENEWAL_OUTCOME_CANCELLING ? Renewal::kCancelling : Renewal::kLost;
}

}  // namespace sassay::cluster
