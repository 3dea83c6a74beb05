#include "monitor/program/watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::monitor {
namespace {

// The engine also wants to know that time passes.
constexpr absl::Duration kLongestRound = absl::Milliseconds(500);
// Sources that are read at one beat have answered by then, eight GPUs included.
constexpr absl::Duration kGather = absl::Milliseconds(40);
// People and Prometheus look less often than the rules.
constexpr absl::Duration kShowEvery = absl::Milliseconds(500);
constexpr absl::Duration kJournalRetry = absl::Seconds(1);

constexpr size_t kMostFailing = 1000;
constexpr double kServiceUp = 2;  // seconds since its last heartbeat

std::vector<GpuName> NamesOf(const nvml::Directory& directory) {
  std::vector<GpuName> names;
  for (const nvml::Gpu& gpu : directory.gpus()) {
    names.push_back({gpu.uuid, absl::StrCat(gpu.index), absl::StrCat("nvidia", gpu.index), gpu.model});
  }
  return names;
}

Now BothClocks() { return {SteadyNow(), absl::Now()}; }

void Log(const Decision& decision) {
  if (decision.kind == DecisionKind::kRecordIncident) {
    const v1::Incident& incident = decision.incident;
    spdlog::warn("incident {} revision {} {}: {} {}", incident.id(), incident.revision(), incident.uuid(),
                 incident.rule(), incident.has_to() ? "is over" : incident.reason());
    return;
  }
  spdlog::info("{} {} {} {}", DecisionKindName(decision.kind), decision.gpu, decision.incident_id, decision.reason);
}

}  // namespace

Watch::Watch(WatchParts parts)
    : journal_(std::move(parts.journal)),
      board_(parts.board),
      directory_(std::move(parts.directory)),
      engine_(std::move(parts.config), std::move(parts.host)),
      sampler_(std::move(parts.sources)),
      reporter_(RandomHex(8), std::move(parts.report_health)),
      executor_(std::move(parts.carry_out), [this] { sampler_.Wake(); }) {
  engine_.Restore(parts.remembered);
}

void Watch::Run() {
  while (!stop_) Round();
}

void Watch::Stop() {
  stop_ = true;
  sampler_.Wake();
}

void Watch::Add(Sample sample) {
  {
    absl::MutexLock lock(&mutex_);
    added_.push_back(std::move(sample));
  }
  sampler_.Wake();
}

std::vector<Sample> Watch::TakeAdded() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(added_, {});
}

void Watch::Round() {
  std::vector<Sample> samples = sampler_.Take(kLongestRound, kGather);
  for (Sample& sample : TakeAdded()) samples.push_back(std::move(sample));
  const std::vector<Outcome> outcomes = executor_.TakeOutcomes();
  for (const Outcome& outcome : outcomes) {
    samples.insert(samples.end(), outcome.samples.begin(), outcome.samples.end());
  }
  const Now now = BothClocks();
  engine_.Step(now, samples);
  for (const Outcome& outcome : outcomes) {
    LogOutcome(outcome);
    engine_.Acknowledge(outcome.id, outcome.status, now);
  }
  WriteJournal();
  const std::vector<Decision> due = engine_.Due(now);
  LogDue(due);
  executor_.Submit(due);
  reporter_.Set(engine_.Report());
  if (board_ != nullptr) ShowOnBoard(samples, outcomes);
}

void Watch::LogDue(const std::vector<Decision>& due) {
  const uint64_t before = logged_;
  for (const Decision& decision : due) {
    if (decision.id > before) Log(decision);
    logged_ = std::max(logged_, decision.id);
  }
}

void Watch::LogOutcome(const Outcome& outcome) {
  if (outcome.status.ok()) {
    if (failing_.erase(outcome.id) != 0) spdlog::info("{} was done after all", DecisionKindName(outcome.kind));
  } else if (failing_.insert(outcome.id).second) {
    spdlog::warn("{}: {}", DecisionKindName(outcome.kind), outcome.status.ToString());
  }
  if (failing_.size() > kMostFailing) failing_.erase(failing_.begin());
}

void Watch::WriteJournal() {
  const std::vector<v1::JournalEntry> entries = engine_.TakeJournal();
  const absl::Time now = SteadyNow();
  if (journal_behind_ && now < journal_retry_) return;
  const bool everything = journal_behind_;
  const absl::Status written = journal_->Append(everything ? engine_.Snapshot() : entries);
  if (!written.ok() && !journal_behind_) {
    spdlog::error("the journal cannot be written, a restarted monitor would not know of this: {}", written.ToString());
  }
  if (written.ok() && journal_behind_) spdlog::info("the journal is whole again");
  journal_behind_ = !written.ok();
  journal_retry_ = now + kJournalRetry;
  if (journal_behind_ || !journal_->Bulky()) return;
  const absl::Status compacted = journal_->Compact(engine_.Snapshot());
  if (!compacted.ok()) spdlog::warn("compacting the journal: {}", compacted.ToString());
}

void Watch::ShowOnBoard(const std::vector<Sample>& samples, const std::vector<Outcome>& outcomes) {
  board_->Saw(samples);
  for (const Outcome& outcome : outcomes) {
    board_->Acted(DecisionKindName(outcome.kind), outcome.status.ok());
    if (outcome.kind == DecisionKind::kRecordIncident) board_->Record(outcome.incident);
  }
  if (shown_ + kShowEvery <= SteadyNow()) ShowStates();
  bool introduced = false;
  for (const Sample& sample : samples) {
    if (sample.signal == "service.silent_seconds") board_->SetServiceUp(sample.value < kServiceUp);
    introduced = introduced || sample.signal == "gpu.model";
  }
  if (introduced && directory_ != nullptr) board_->Name(NamesOf(*directory_));
}

void Watch::ShowStates() {
  shown_ = SteadyNow();
  board_->Show(engine_.View());
  for (const SourceView& view : sampler_.View()) {
    board_->ShowSource(view.name, {view.silent, view.readings, view.failures});
  }
  board_->ShowDropped(sampler_.dropped());
}

bool Watch::AnyHangs() const {
  for (const SourceView& view : sampler_.View()) {
    if (view.reading && view.silent > absl::ZeroDuration()) return true;
  }
  return false;
}

}  // namespace sassay::monitor
