#include "agent/batch/corrections.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/rollout/policy.h"
#include "agent/submit/exclusion_stream.h"
#include "agent/submit/rpc_error.h"

namespace sassay::agent {
namespace {

// One trajectory of one turn for each record.
constexpr uint32_t kOnlyTurn = 0;

v1::BatchRecord IdentityOf(const v1::BatchRecord& record) {
  v1::BatchRecord identity;
  identity.set_id(record.id());
  identity.set_line(record.line());
  identity.set_item_sha256(record.item_sha256());
  identity.set_request_id(record.request_id());
  identity.mutable_verdict()->set_submission_id(record.verdict().submission_id());
  identity.mutable_verdict()->set_status(record.verdict().status());
  return identity;
}

}  // namespace

void CountRecord(const v1::BatchRecord& record, v1::BatchSummary& counts) {
  if (record.has_failure()) {
    record.failure().exit_status() == kExitUsage ? counts.set_unusable(counts.unusable() + 1)
                                                 : counts.set_not_judged(counts.not_judged() + 1);
  } else if (record.has_verdict() && !IsAboutCandidate(record.verdict())) {
    counts.set_not_judged(counts.not_judged() + 1);
  } else {
    record.verdict().status() == v1::VERDICT_STATUS_CORRECT ? counts.set_correct(counts.correct() + 1)
                                                            : counts.set_at_fault(counts.at_fault() + 1);
  }
}

Corrections::Corrections(CorrectionParts parts)
    : parts_(std::move(parts)), begin_(absl::Now()), exclusions_([this](size_t index) {
        absl::MutexLock lock(&mutex_);
        excluded_.push_back(index);
      }) {}

Corrections::~Corrections() {
  Stop();
  if (watcher_.joinable()) watcher_.join();
  if (worker_.joinable()) {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
    }
    worker_.join();
  }
}

void Corrections::Start() {
  watcher_ =
      std::thread([this] { parts_.watch(stopper_, [this](const v1::Event& event) { exclusions_.Take(event); }); });
  worker_ = std::thread([this] { Work(); });
}

void Corrections::Remember(const v1::BatchRecord& record) {
  if (!record.has_verdict() || !IsAboutCandidate(record.verdict())) return;
  written_.push_back(IdentityOf(record));
  exclusions_.Counts(written_.size() - 1, kOnlyTurn, record.verdict());
  // It may have been excluded while it was on its way.
  if (exclusions_.Earliest(written_.size() - 1).has_value()) excluded_.push_back(written_.size() - 1);
}

absl::Status Corrections::Emit(const v1::BatchRecord& record) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = parts_.write(record);
  if (status.ok()) Remember(record);
  return status;
}

void Corrections::Finish() {
  // What was told while the stream was broken, or is on its way still.
  const absl::Status asked =
      parts_.past(begin_ - kExclusionClockSlack, stopper_, [this](const v1::Event& event) { exclusions_.Take(event); });
  if (!asked.ok() && !stopper_.stopped()) parts_.note(asked.message());
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  if (worker_.joinable()) worker_.join();
  stopper_.Stop();
  if (watcher_.joinable()) watcher_.join();
}

void Corrections::Work() {
  for (;;) {
    size_t index = 0;
    {
      absl::MutexLock lock(&mutex_);
      const auto something = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !excluded_.empty() || ending_; };
      mutex_.Await(absl::Condition(&something));
      if (excluded_.empty() || stopper_.stopped()) return;
      index = excluded_.front();
      excluded_.pop_front();
    }
    Correct(index);
  }
}

void Corrections::Correct(size_t index) {
  const auto turn = exclusions_.Earliest(index);
  if (!turn.has_value()) return;  // told twice
  v1::BatchRecord record;
  std::string submission;
  {
    absl::MutexLock lock(&mutex_);
    record = written_[index];
    submission = record.verdict().submission_id();
  }
  exclusions_.Rewound(index, kOnlyTurn);  // first, so that what is excluded meanwhile is kept for the next verdict
  absl::StatusOr<v1::Verdict> verdict = parts_.follow(submission, stopper_);
  if (!verdict.ok()) {
    if (!stopper_.stopped()) {
      parts_.note(absl::StrCat("the verdict of ", record.id(), " was excluded (", turn->exclusion.reason(),
                               "), and what stands instead is not known: ", verdict.status().message()));
    }
    return;
  }
  absl::MutexLock lock(&mutex_);
  CountRecord(record, gone_);
  *record.mutable_verdict() = *std::move(verdict);
  CountRecord(record, come_);
  ++corrected_;
  parts_.note(absl::StrCat("the verdict of ", record.id(), " was excluded (", turn->exclusion.reason(),
                           "): a record that corrects it follows"));
  if (const absl::Status status = parts_.write(record); !status.ok()) parts_.note(status.message());
  Remember(record);
}

void Corrections::Apply(v1::BatchSummary& counts) const {
  absl::MutexLock lock(&mutex_);
  counts.set_correct(counts.correct() + come_.correct() - gone_.correct());
  counts.set_at_fault(counts.at_fault() + come_.at_fault() - gone_.at_fault());
  counts.set_not_judged(counts.not_judged() + come_.not_judged() - gone_.not_judged());
}

size_t Corrections::corrected() const {
  absl::MutexLock lock(&mutex_);
  return corrected_;
}

}  // namespace sassay::agent
