#include "monitor/rules/engine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "common/base/proto_time.h"
#include "monitor/rules/state/subject.h"

namespace sassay::monitor {
namespace {

// What NTP slews is less in a step; what somebody sets is more.
constexpr absl::Duration kJump = absl::Milliseconds(500);
constexpr absl::Duration kBetweenMarks = absl::Seconds(5);
constexpr size_t kMostGpus = 256;

double Middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

const char* Done(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kPause:
      return "paused";
    case DecisionKind::kResume:
      return "resumed";
    case DecisionKind::kRelease:
      return "released";
    case DecisionKind::kQuarantine:
      return "quarantined";
    case DecisionKind::kExclude:
      return "exclusion asked for";
    case DecisionKind::kRestartWorkers:
      return "workers restarted";
    case DecisionKind::kRestartService:
      return "service restarted";
    default:
      return "done";
  }
}

}  // namespace

struct Engine::Impl {
  Impl(v1::MonitorConfig given, std::string host)
      : config(std::move(given)), shared{config, std::move(host), {}, {}, 1, {}, {}, {}}, host_subject("", shared) {}

  Subject* Gpu(const std::string& uuid, absl::Time now);
  Subject* SubjectOf(const std::string& uuid);
  void SetClock(const Now& now);
  void TakeUp(const Now& now);
  void Distribute(const Sample& sample, absl::Time now);
  CanaryTimes Peers(const Subject& of) const;
  void Tell(const Decision& decision, const absl::Status& result, absl::Time now);
  void Keep(v1::JournalEntry entry);
  v1::JournalEntry SubjectEntry(const Subject& subject) const;
  v1::JournalEntry MarkEntry(const Subject& subject) const;
  void KeepRecords(absl::Time now);
  SubjectView View(const Subject& subject) const;

  const v1::MonitorConfig config;
  Shared shared;
  std::map<std::string, std::unique_ptr<Subject>> gpus;
  Subject host_subject;
  bool has_clock = false;
  std::vector<v1::JournalEntry> to_restore;
  std::vector<v1::JournalEntry> journal;
  uint64_t sequence = 0;
  absl::Time marked = absl::InfinitePast();
};

Subject* Engine::Impl::Gpu(const std::string& uuid, absl::Time now) {
  const auto found = gpus.find(uuid);
  if (found != gpus.end()) return found->second.get();
  if (gpus.size() >= kMostGpus) return nullptr;
  Subject* subject = gpus.emplace(uuid, std::make_unique<Subject>(uuid, shared)).first->second.get();
  shared.gpus.insert(uuid);
  // One that the journal knows has heard of them.
  if (to_restore.empty()) host_subject.troubles().ExcludeNewcomer(uuid);
  subject->Begin(now);
  return subject;
}

Subject* Engine::Impl::SubjectOf(const std::string& uuid) {
  if (uuid.empty()) return &host_subject;
  const auto found = gpus.find(uuid);
  return found == gpus.end() ? nullptr : found->second.get();
}

void Engine::Impl::SetClock(const Now& now) {
  const Clock before = shared.clock;
  shared.clock.offset = now.wall - now.steady;
  const absl::Duration jump = shared.clock.offset - before.offset;
  if (has_clock && absl::AbsDuration(jump) > kJump) {
    for (auto& [uuid, gpu] : gpus) gpu->Reopen(before, now.steady);
    host_subject.Reopen(before, now.steady);
    Distribute({now.steady, "", "host.clock_jump_seconds", absl::ToDoubleSeconds(jump), {}}, now.steady);
  }
  has_clock = true;
}

// The newest record of each subject counts, and the newest mark of each GPU.
void Engine::Impl::TakeUp(const Now& now) {
  std::map<std::string, const v1::SubjectState*> records;
  std::map<std::string, const v1::WatchMark*> marks;
  for (const v1::JournalEntry& entry : to_restore) {
    sequence = std::max<uint64_t>(sequence, entry.sequence());
    if (entry.has_subject()) records[entry.subject().uuid()] = &entry.subject();
    if (entry.has_mark()) marks[entry.mark().uuid()] = &entry.mark();
  }
  for (const auto& [uuid, record] : records) {
    Subject* subject = uuid.empty() ? &host_subject : Gpu(uuid, now.steady);
    if (subject != nullptr) subject->Restore(*record);
  }
  for (const auto& [uuid, mark] : marks) {
    Subject* subject = uuid.empty() ? nullptr : Gpu(uuid, now.steady);
    if (subject != nullptr) subject->Restore(*mark);
  }
  to_restore.clear();
}

void Engine::Impl::Distribute(const Sample& sample, absl::Time now) {
  if (!std::isfinite(sample.value)) return;
  if (sample.at > now) {
    // Read while this step began.
    Sample earlier = sample;
    earlier.at = now;
    return Distribute(earlier, now);
  }
  if (!sample.gpu.empty()) {
    Subject* gpu = Gpu(sample.gpu, now);
    if (gpu != nullptr) gpu->Take(sample, now);
    return host_subject.Hear(sample);
  }
  host_subject.Take(sample, now);
  if (sample.signal == "source.silent_seconds") {
    for (auto& [uuid, gpu] : gpus) gpu->TakeSource(sample);
  }
  if (sample.signal != "service.started") return;
  for (auto& [uuid, gpu] : gpus) gpu->SayAgain();
  host_subject.SayAgain();
}

CanaryTimes Engine::Impl::Peers(const Subject& of) const {
  std::vector<double> tensor, memory;
  for (const auto& [uuid, gpu] : gpus) {
    if (gpu.get() == &of || gpu->model() != of.model()) continue;
    const CanaryTimes times = gpu->CanaryReference();
    if (times.tensor_ns > 0) tensor.push_back(times.tensor_ns);
    if (times.memory_ns > 0) memory.push_back(times.memory_ns);
  }
  return {Middle(tensor), Middle(memory)};
}

void Engine::Impl::Keep(v1::JournalEntry entry) {
  entry.set_sequence(++sequence);
  journal.push_back(std::move(entry));
}

v1::JournalEntry Engine::Impl::SubjectEntry(const Subject& subject) const {
  v1::JournalEntry entry;
  *entry.mutable_subject() = subject.Record();
  return entry;
}

v1::JournalEntry Engine::Impl::MarkEntry(const Subject& subject) const {
  v1::JournalEntry entry;
  *entry.mutable_mark() = subject.Mark();
  return entry;
}

void Engine::Impl::KeepRecords(absl::Time now) {
  for (v1::Incident& incident : shared.revised) {
    v1::JournalEntry entry;
    *entry.mutable_incident() = std::move(incident);
    Keep(std::move(entry));
  }
  shared.revised.clear();
  for (const std::string& uuid : shared.touched) {
    const Subject* subject = SubjectOf(uuid);
    if (subject != nullptr) Keep(SubjectEntry(*subject));
  }
  shared.touched.clear();
  if (now - marked < kBetweenMarks) return;
  marked = now;
  for (const auto& [uuid, gpu] : gpus) {
    if (gpu->healthy_through() != absl::InfinitePast()) Keep(MarkEntry(*gpu));
  }
}

// Incidents say what was done about them.
void Engine::Impl::Tell(const Decision& decision, const absl::Status& result, absl::Time now) {
  if (decision.incident_id.empty() || decision.kind == DecisionKind::kRecordIncident) return;
  const auto tell = [&](Subject& subject) {
    Trouble* trouble = subject.troubles().Find(decision.incident_id);
    if (trouble == nullptr) return;
    const std::string where = subject.gpu().empty() && !decision.gpu.empty() ? " on " + decision.gpu : "";
    if (result.ok()) return trouble->AddAction(now, absl::StrCat(Done(decision.kind), where), shared.clock);
    const std::string line = absl::StrCat(DecisionKindName(decision.kind), where, " failed: ", result.ToString());
    const auto& actions = trouble->incident.actions();
    // Once is enough: it is tried until it succeeds.
    const bool told = std::any_of(actions.begin(), actions.end(), [&](const std::string& one) {
      return one.find(absl::StrCat(DecisionKindName(decision.kind), where, " failed")) != std::string::npos;
    });
    if (!told) trouble->AddAction(now, line, shared.clock);
  };
  for (auto& [uuid, gpu] : gpus) tell(*gpu);
  tell(host_subject);
}

SubjectView Engine::Impl::View(const Subject& subject) const {
  SubjectView view;
  view.gpu = subject.gpu();
  view.model = subject.model();
  view.state = subject.state();
  view.reason = subject.Reason();
  if (subject.since() != absl::InfinitePast()) view.since = shared.clock.Wall(subject.since());
  const absl::Time through = subject.healthy_through();
  if (through != absl::InfinitePast()) view.healthy_through = shared.clock.Wall(through);
  if (subject.canary().last() != absl::InfinitePast()) view.last_canary = shared.clock.Wall(subject.canary().last());
  if (const auto& verdict = subject.canary().verdict()) {
    view.canary_tensor_ratio = verdict->tensor_ratio;
    view.canary_memory_ratio = verdict->memory_ratio;
  }
  for (const Trouble& trouble : subject.troubles().all()) {
    if (!trouble.over) view.open.push_back(trouble.incident);
  }
  return view;
}

Engine::Engine(v1::MonitorConfig config, std::string host)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(host))) {}
Engine::~Engine() = default;

void Engine::Restore(const std::vector<v1::JournalEntry>& entries) { impl_->to_restore = entries; }

void Engine::Step(const Now& now, const std::vector<Sample>& samples) {
  Impl& engine = *impl_;
  engine.SetClock(now);
  if (!engine.to_restore.empty()) engine.TakeUp(now);
  for (auto& [uuid, gpu] : engine.gpus) gpu->Begin(now.steady);
  engine.host_subject.Begin(now.steady);
  for (const Sample& sample : samples) engine.Distribute(sample, now.steady);
  engine.host_subject.Conclude(now.steady, {});
  Subject::Around around;
  around.host = &engine.host_subject.troubles();
  around.limit = engine.host_subject.DoubtSince();
  for (auto& [uuid, gpu] : engine.gpus) {
    if (gpu->TookCanary()) around.peers = engine.Peers(*gpu);
    gpu->Conclude(now.steady, around);
  }
  engine.KeepRecords(now.steady);
}

std::vector<v1::JournalEntry> Engine::TakeJournal() { return std::exchange(impl_->journal, {}); }

std::vector<v1::JournalEntry> Engine::Snapshot() const {
  std::vector<v1::JournalEntry> entries;
  entries.push_back(impl_->SubjectEntry(impl_->host_subject));
  for (const auto& [uuid, gpu] : impl_->gpus) {
    entries.push_back(impl_->SubjectEntry(*gpu));
    if (gpu->healthy_through() != absl::InfinitePast()) entries.push_back(impl_->MarkEntry(*gpu));
  }
  uint64_t sequence = impl_->sequence;
  for (v1::JournalEntry& entry : entries) entry.set_sequence(++sequence);
  return entries;
}

std::vector<Decision> Engine::Due(const Now& now) { return impl_->shared.outbox.HandOut(now.steady); }

void Engine::Acknowledge(uint64_t id, const absl::Status& result, const Now& now) {
  Impl& engine = *impl_;
  const Decision* pending = engine.shared.outbox.Find(id);
  if (pending == nullptr) return;
  const Decision decision = *pending;
  engine.shared.touched.insert(decision.gpu);
  Subject* subject = engine.SubjectOf(decision.gpu);
  if (decision.kind == DecisionKind::kRunCanary) {
    engine.shared.outbox.Done(id);
    if (subject != nullptr) subject->CanaryAnswered(result, now.steady);
    return;
  }
  const bool restart = decision.kind == DecisionKind::kRestartWorkers || decision.kind == DecisionKind::kRestartService;
  const bool impossible = restart && (absl::IsFailedPrecondition(result) || absl::IsUnimplemented(result));
  const bool done = result.ok() || absl::IsNotFound(result) || impossible;
  done ? engine.shared.outbox.Done(id) : engine.shared.outbox.Failed(id, now.steady);
  engine.Tell(decision, result, now.steady);
}

v1::ReportHealthRequest Engine::Report() const {
  v1::ReportHealthRequest report;
  for (const auto& [uuid, gpu] : impl_->gpus) {
    v1::GpuHealth& health = *report.add_gpus();
    health.set_uuid(uuid);
    health.set_state(gpu->state());
    health.set_reason(gpu->Reason());
    const absl::Time through = gpu->healthy_through();
    if (through == absl::InfinitePast()) continue;
    SetTimestamp(impl_->shared.clock.Wall(through), *health.mutable_healthy_through());
    SetTimestamp(impl_->shared.clock.Wall(gpu->watched_since()), *health.mutable_watched_since());
  }
  return report;
}

std::vector<SubjectView> Engine::View() const {
  std::vector<SubjectView> views;
  for (const auto& [uuid, gpu] : impl_->gpus) views.push_back(impl_->View(*gpu));
  views.push_back(impl_->View(impl_->host_subject));
  return views;
}

}  // namespace sassay::monitor
