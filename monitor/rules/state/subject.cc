#include "monitor/rules/state/subject.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sassay::monitor {
namespace {

constexpr size_t kMostOccurrences = 100;

}  // namespace

Subject::Subject(std::string gpu, Shared& shared)
    : gpu_(std::move(gpu)),
      shared_(shared),
      troubles_(gpu_, shared),
      canary_(shared.config.canary()),
      restarts_(shared.config.restarts()),
      watermark_(shared.config.watermark()),
      hold_(Hold{}) {
  const auto scope = IsHost() ? v1::Rule::HOST : v1::Rule::GPU;
  for (const v1::Rule& rule : shared.config.rules()) {
    if (rule.scope() != scope) continue;
    RuleWatch* watch = watches_.emplace_back(std::make_unique<RuleWatch>(rule)).get();
    const auto listen = [&](const std::string& signal) {
      auto& listeners = by_signal_[signal];
      if (std::find(listeners.begin(), listeners.end(), watch) == listeners.end()) listeners.push_back(watch);
    };
    for (const v1::Condition& condition : rule.when()) listen(condition.signal());
    if (rule.has_excuse()) listen(rule.excuse().signal());
  }
}

void Subject::Begin(absl::Time now) {
  if (since_ == absl::InfinitePast()) since_ = now;
  for (const auto& watch : watches_) {
    for (const Excused& excused : watch->Advance(now)) troubles_.Excuse(*watch, excused, now, state_);
  }
}

void Subject::Feed(const Sample& sample) {
  const auto listeners = by_signal_.find(sample.signal);
  if (listeners == by_signal_.end()) return;
  for (RuleWatch* watch : listeners->second) watch->Take(sample);
}

void Subject::Take(const Sample& sample, absl::Time now) {
  watermark_.Take(sample);
  Feed(sample);
  if (sample.signal == "canary.tensor_ns") taken_.tensor_ns = sample.value;
  if (sample.signal == "canary.memory_ns") taken_.memory_ns = sample.value;
  if (absl::StartsWith(sample.signal, "canary.") && absl::EndsWith(sample.signal, "_ns")) taken_at_ = sample.at;
  if (sample.signal == "gpu.model") model_ = sample.text;
  if (sample.signal == "gpu.release_asked") ReleaseAsked(sample);
  if (sample.signal == "gpu.released") Released(sample, now);
}

void Subject::Conclude(absl::Time now, const Around& around) {
  if (!IsHost()) TakeCanary(around, now);
  JudgeRules(now);
  CloseGone(now);
  Restart(now);
  if (!IsHost()) {
    MoveState(now);
    AskCanary(now);
    SayHold(around);
  }
  troubles_.Settle(now);
  if (!IsHost()) MoveWatermark(now, around);
  if (state_ == v1::GPU_STATE_HEALTHY) troubles_.SettleOver();
}

void Subject::TakeCanary(const Around& around, absl::Time now) {
  if (taken_at_ == absl::InfinitePast()) return;
  shared_.touched.insert(gpu_);
  const bool remember = state_ == v1::GPU_STATE_HEALTHY;
  const auto verdict = canary_.Took(taken_at_, taken_, around.peers, remember);
  taken_ = {};
  taken_at_ = absl::InfinitePast();
  if (verdict) FeedVerdict(*verdict);
}

// What the canary came to goes through the rules like any other sample.
void Subject::FeedVerdict(const CanaryVerdict& verdict) {
  const auto feed = [&](const char* signal, double ratio) {
    if (ratio > 0) verdict_samples_.push_back({verdict.at, gpu_, signal, ratio, {}});
  };
  verdict_samples_.clear();
  feed("canary.tensor_ratio", verdict.tensor_ratio);
  feed("canary.memory_ratio", verdict.memory_ratio);
  feed("canary.tensor_peer_ratio", verdict.tensor_peer_ratio);
  feed("canary.memory_peer_ratio", verdict.memory_peer_ratio);
  for (const Sample& sample : verdict_samples_) Feed(sample);
}

void Subject::JudgeRules(absl::Time now) {
  for (const auto& watch : watches_) {
    Trouble* trouble = troubles_.Current(watch->rule().name());
    if (watch->bad()) {
      trouble == nullptr ? OpenByRule(*watch, now) : troubles_.Extend(*trouble, watch->newest(), watch->LastBad());
    } else if (trouble != nullptr) {
      const auto good = watch->HeldGoodSince(now, trouble->last_bad);
      if (!good) continue;
      if (trouble->target >= v1::GPU_STATE_COOLING) over_ = now;
      trouble->AddEvidence(watch->newest(), shared_.clock);
      troubles_.Close(*trouble, *good, now);
    }
  }
}

void Subject::OpenByRule(const RuleWatch& watch, absl::Time now) {
  Trouble& trouble = troubles_.Open(watch, now, state_);
  if (Escalates(watch.rule(), now)) {
    trouble.target = v1::GPU_STATE_QUARANTINED;
    trouble.pauses = true;
    trouble.incident.set_severity(v1::SEVERITY_CRITICAL);
    trouble.incident.set_after(v1::GPU_STATE_QUARANTINED);
    trouble.incident.set_reason(absl::StrCat(trouble.incident.reason(),
                                             "; too often: ", watch.rule().escalate().times(), " times within ",
                                             watch.rule().escalate().within_s(), " s"));
  }
  if (!IsHost() && trouble.target > state_) Enter(trouble.target, now);
  if (trouble.wants_canary) canary_.Want();
  if (trouble.excludes) troubles_.Exclude(trouble, true);
  troubles_.Revise(trouble, now);
}

bool Subject::Escalates(const v1::Rule& rule, absl::Time now) {
  if (!rule.has_escalate()) return false;
  std::deque<absl::Time>& times = occurrences_[rule.name()];
  times.push_back(now);
  while (times.size() > kMostOccurrences || now - times.front() > absl::Seconds(rule.escalate().within_s())) {
    times.pop_front();
  }
  return times.size() >= rule.escalate().times();
}

// A rule that the configuration no longer has cannot say that all is well.
void Subject::CloseGone(absl::Time now) {
  for (Trouble& trouble : troubles_.all()) {
    if (trouble.over || trouble.rule != nullptr) continue;
    trouble.AddAction(now, "closed: there is no such rule any more", shared_.clock);
    if (trouble.target >= v1::GPU_STATE_COOLING) over_ = now;
    troubles_.Close(trouble, now, now);
  }
}

// Something still is as it should not be, or happened since the last restart.
bool Subject::WantsRestart(const Trouble& trouble) const {
  if (restarts_.restarts().empty() || trouble.last_bad > restarts_.restarts().back()) return true;
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const auto& watch) { return &watch->rule() == trouble.rule && watch->LastsOn(); });
}

void Subject::Restart(absl::Time now) {
  const v1::Rule::Action action = IsHost() ? v1::Rule::RESTART_SERVICE : v1::Rule::RESTART_WORKERS;
  for (Trouble& trouble : troubles_.all()) {
    if (trouble.over || !trouble.Does(action) || state_ == v1::GPU_STATE_QUARANTINED) continue;
    if (!WantsRestart(trouble) || !restarts_.Allowed(now)) continue;
    restarts_.Made(now);
    Decision decision;
    decision.kind = IsHost() ? DecisionKind::kRestartService : DecisionKind::kRestartWorkers;
    decision.gpu = gpu_;
    decision.incident_id = trouble.incident.id();
    decision.reason = trouble.incident.reason();
    shared_.Decide(std::move(decision));
    if (restarts_.Storm(now)) return RestartStorm(now);
  }
}

void Subject::RestartStorm(absl::Time now) {
  const v1::RestartPolicy& policy = shared_.config.restarts();
  const std::string why = absl::StrCat(policy.limit(), " restarts within ", policy.limit_within_s(), " s did not help");
  if (!IsHost()) return Quarantine("restart_storm", why, now);
  Trouble& storm =
      troubles_.OpenOwn("restart_storm", absl::StrCat(why, ": the service is left alone until they are over"), now, now,
                        v1::GPU_STATE_HEALTHY, v1::GPU_STATE_HEALTHY, v1::SEVERITY_CRITICAL);
  troubles_.Close(storm, now, now);
}

void Subject::CanaryAnswered(const absl::Status& status, absl::Time now) {
  shared_.touched.insert(gpu_);
  if (absl::IsFailedPrecondition(status) || absl::IsUnimplemented(status)) return canary_.SetImpossible();
  if (status.ok()) return;
  // A GPU that the service does not have may be given to it one day.
  const double pause = absl::IsNotFound(status) ? 60 : shared_.config.cooling().canary_every_s();
  canary_.Failed(now + absl::Seconds(pause));
}

absl::Time Subject::DoubtSince() const {
  absl::Time doubt = absl::InfiniteFuture();
  for (const auto& watch : watches_) {
    const auto& actions = watch->rule().actions();
    if (std::find(actions.begin(), actions.end(), v1::Rule::EXCLUDE) == actions.end()) continue;
    if (const auto since = watch->DoubtSince()) doubt = std::min(doubt, *since);
  }
  if (const auto since = canary_.DoubtSince()) doubt = std::min(doubt, *since);
  return doubt;
}

void Subject::MoveWatermark(absl::Time now, const Around& around) {
  absl::Time limit = std::min(around.limit, DoubtSince());
  const absl::Time unknown = shared_.outbox.UnknownSince(gpu_);
  if (unknown != absl::InfiniteFuture()) limit = std::min(limit, shared_.clock.Steady(unknown));
  const auto gap = watermark_.Advance(now, limit);
  if (!gap) return;
  Trouble& unwatched = troubles_.OpenOwn("unwatched", "nobody watched, and no counter proves that nothing happened",
                                         gap->from, now, state_, state_, v1::SEVERITY_WARNING);
  troubles_.ExcludePast(unwatched, gap->to, now);
}

std::string Subject::Reason() const {
  const Trouble* worst = troubles_.Worst();
  if (worst != nullptr && worst->target > v1::GPU_STATE_HEALTHY) return worst->incident.reason();
  if (state_ == v1::GPU_STATE_HEALTHY) return "";
  for (auto trouble = troubles_.all().rbegin(); trouble != troubles_.all().rend(); ++trouble) {
    if (trouble->incident.after() == state_) return trouble->incident.reason();
  }
  return "waits for its release";
}

v1::WatchMark Subject::Mark() const {
  v1::WatchMark mark;
  mark.set_uuid(gpu_);
  mark.set_healthy_through_ns(KeptTime(watermark_.through(), shared_.clock));
  mark.set_watched_since_ns(KeptTime(watermark_.since(), shared_.clock));
  for (const auto& [name, value] : watermark_.Counters()) (*mark.mutable_counters())[name] = value;
  return mark;
}

void Subject::Restore(const v1::WatchMark& mark) {
  if (mark.healthy_through_ns() == 0) return;
  const absl::Time through = FromKept(mark.healthy_through_ns(), shared_.clock);
  const bool told = mark.watched_since_ns() != 0;
  watermark_.Restore(through, told ? FromKept(mark.watched_since_ns(), shared_.clock) : through,
                     std::map<std::string, double>(mark.counters().begin(), mark.counters().end()));
}

v1::SubjectState Subject::Record() const {
  v1::SubjectState record;
  const Clock& clock = shared_.clock;
  record.set_uuid(gpu_);
  record.set_model(model_);
  record.set_state(state_);
  record.set_since_ns(KeptTime(since_, clock));
  record.set_over_ns(KeptTime(over_, clock));
  for (const Trouble& trouble : troubles_.all()) *record.add_open() = ToProto(trouble, clock);
  for (const Decision& decision : shared_.outbox.Of(gpu_)) *record.add_pending() = ToProto(decision);
  for (const CanaryTimes& times : canary_.history()) {
    record.mutable_canary()->add_tensor_ns(times.tensor_ns);
    record.mutable_canary()->add_memory_ns(times.memory_ns);
  }
  record.mutable_canary()->set_last_ns(KeptTime(canary_.last(), clock));
  record.mutable_canary()->set_impossible(canary_.impossible());
  for (const auto& [rule, times] : occurrences_) {
    for (const absl::Time at : times) {
      v1::Occurrence& occurrence = *record.add_occurrences();
      occurrence.set_rule(rule);
      occurrence.set_at_ns(KeptTime(at, clock));
    }
  }
  for (const absl::Time at : restarts_.restarts()) record.add_restarts_ns(KeptTime(at, clock));
  record.set_release_asked(release_asked_);
  record.set_next_incident(shared_.next_incident);
  record.set_next_decision(shared_.outbox.next_id());
  return record;
}

void Subject::Restore(const v1::SubjectState& record) {
  const Clock& clock = shared_.clock;
  model_ = record.model();
  if (record.state() != v1::GPU_STATE_UNSPECIFIED && v1::GpuState_IsValid(record.state())) state_ = record.state();
  since_ = FromKept(record.since_ns(), clock);
  over_ = FromKept(record.over_ns(), clock);
  for (const v1::OpenIncident& kept : record.open()) {
    const auto watch = std::find_if(watches_.begin(), watches_.end(),
                                    [&](const auto& one) { return one->rule().name() == kept.incident().rule(); });
    troubles_.all().push_back(FromProto(kept, watch == watches_.end() ? nullptr : &(*watch)->rule(), clock));
  }
  for (const v1::PendingDecision& kept : record.pending()) {
    // A canary that was under way is wanted anew where it is needed.
    if (kept.kind() != DecisionKindName(DecisionKind::kRunCanary)) shared_.outbox.Restore(FromProto(kept));
  }
  std::deque<CanaryTimes> history;
  const int canaries = std::min(record.canary().tensor_ns_size(), record.canary().memory_ns_size());
  for (int i = 0; i < canaries; ++i) history.push_back({record.canary().tensor_ns(i), record.canary().memory_ns(i)});
  canary_.Restore(std::move(history), FromKept(record.canary().last_ns(), clock), record.canary().impossible());
  for (const v1::Occurrence& occurrence : record.occurrences()) {
    occurrences_[occurrence.rule()].push_back(FromKept(occurrence.at_ns(), clock));
  }
  std::deque<absl::Time> restarts;
  for (const int64_t at : record.restarts_ns()) restarts.push_back(FromKept(at, clock));
  restarts_.Restore(std::move(restarts));
  release_asked_ = record.release_asked();
  shared_.next_incident = std::max<uint64_t>(shared_.next_incident, record.next_incident());
  shared_.outbox.RestoreNextId(record.next_decision());
  hold_ = absl::nullopt;
}

}  // namespace sassay::monitor
