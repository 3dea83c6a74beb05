// The states of one GPU: how it gets into one and how it leaves it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/proto_json.h"
#include "monitor/rules/state/subject.h"

namespace sassay::monitor {
namespace {

constexpr char kPolicy[] = "policy";

// A window that only a clean canary closes.
bool EndsWithCanary(const Trouble& trouble) {
  if (trouble.over || trouble.rule == nullptr || trouble.target < v1::GPU_STATE_COOLING) return false;
  const auto& when = trouble.rule->when();
  return std::any_of(when.begin(), when.end(), [](const v1::Condition& condition) {
    return condition.signal() == "canary.tensor_ratio" || condition.signal() == "canary.memory_ratio";
  });
}

std::string Told(const absl::optional<CanaryVerdict>& verdict) {
  if (!verdict) return "no canary";
  if (verdict->tensor_ratio == 0) return "canary ran; there is nothing to compare it with yet";
  return absl::StrFormat("canary %s: tensor %.3f, memory %.3f of the healthy time", verdict->clean ? "clean" : "slow",
                         verdict->tensor_ratio, verdict->memory_ratio);
}

}  // namespace

void Subject::Enter(v1::GpuState state, absl::Time now) {
  state_ = state;
  since_ = now;
  if (state >= v1::GPU_STATE_COOLING) over_ = now;
  shared_.touched.insert(gpu_);
}

void Subject::MoveState(absl::Time now) {
  if (troubles_.Needed() > state_) Enter(troubles_.Needed(), now);
  const auto& all = troubles_.all();
  const bool canary_ends = std::any_of(all.begin(), all.end(), EndsWithCanary);
  if (canary_ends && state_ == v1::GPU_STATE_COOLING) WantCanary(now);
  switch (state_) {
    case v1::GPU_STATE_QUARANTINED:
      return LeaveQuarantine(now);
    case v1::GPU_STATE_COOLING:
      return LeaveCooling(now);
    default:
      return LeaveSuspect(now);
  }
}

bool Subject::CleanSince(absl::Time since) const {
  return canary_.impossible() || (canary_.verdict() && canary_.verdict()->clean && canary_.verdict()->at >= since);
}

void Subject::WantCanary(absl::Time now) {
  if (now - canary_asked_ >= absl::Seconds(shared_.config.cooling().canary_every_s())) canary_.Want();
}

void Subject::LeaveSuspect(absl::Time now) {
  if (!release_asked_.empty()) {
    // Somebody thinks that it is held: what the service believes is put right, after a look.
    if (!CleanSince(release_asked_at_)) return WantCanary(now);
    release_asked_.clear();
    release_due_ = true;
  }
  if (state_ != v1::GPU_STATE_SUSPECT || troubles_.Needed() >= v1::GPU_STATE_SUSPECT) return;
  for (const Trouble& trouble : troubles_.all()) {
    if (trouble.wants_canary && !trouble.settled && !CleanSince(trouble.opened)) return WantCanary(now);
  }
  Return(v1::GPU_STATE_HEALTHY, "good again", now);
}

void Subject::LeaveCooling(absl::Time now) {
  const v1::CoolingPolicy& policy = shared_.config.cooling();
  if (troubles_.Needed() >= v1::GPU_STATE_COOLING || now < over_ + absl::Seconds(policy.minimum_s())) {
    return GiveUpCooling(now);
  }
  if (policy.clean_canary() && !CleanSince(over_)) {
    WantCanary(now);
    return GiveUpCooling(now);
  }
  Return(troubles_.Needed(), "cooled, and its canary is clean", now);
}

void Subject::GiveUpCooling(absl::Time now) {
  const double most = shared_.config.cooling().give_up_after_s();
  if (most <= 0 || now - since_ < absl::Seconds(most)) return;
  Quarantine("cooling_too_long", absl::StrCat("not back after ", most, " s of cooling; ", Told(canary_.verdict())),
             now);
}

void Subject::LeaveQuarantine(absl::Time now) {
  const double after = shared_.config.quarantine().release_after_s();
  const bool bad = troubles_.Needed() == v1::GPU_STATE_QUARANTINED;
  if (release_asked_.empty() && after > 0 && !bad && now - over_ >= absl::Seconds(after)) {
    release_asked_ = kPolicy;
    release_asked_at_ = now;
  }
  if (release_asked_.empty()) return;
  if (bad) return Refuse(absl::StrCat("still bad: ", troubles_.Worst()->incident.reason()), now);
  if (CleanSince(release_asked_at_)) return Return(troubles_.Needed(), absl::StrCat("asked by ", release_asked_), now);
  const bool slow = canary_.verdict() && canary_.verdict()->at >= release_asked_at_;
  slow ? Refuse(Told(canary_.verdict()), now) : WantCanary(now);
}

void Subject::Refuse(const std::string& why, absl::Time now) {
  const std::string line = absl::StrCat("release refused (", release_asked_, "): ", why);
  release_asked_.clear();
  over_ = now;
  shared_.touched.insert(gpu_);
  if (!troubles_.all().empty()) troubles_.all().back().AddAction(now, line, shared_.clock);
}

void Subject::Return(v1::GpuState state, const std::string& why, absl::Time now) {
  const char* name = state_ == v1::GPU_STATE_QUARANTINED ? "released" : "recovered";
  const v1::GpuState before = state_;
  bool by_canary = before >= v1::GPU_STATE_COOLING;
  for (Trouble& trouble : troubles_.all()) {
    if (!trouble.over || trouble.settled) continue;
    by_canary |= trouble.wants_canary;
    trouble.AddAction(now, absl::StrCat(name, ": ", why), shared_.clock);
    troubles_.Revise(trouble, now);
  }
  troubles_.SettleOver();
  Enter(state, now);
  release_due_ |= !release_asked_.empty() && release_asked_ != kPolicy;
  release_asked_.clear();
  const std::string told = by_canary ? absl::StrCat("; ", Told(canary_.verdict())) : "";
  Trouble& note = troubles_.OpenOwn(name, absl::StrCat(EnumName(before), " ended: ", why, told), now, now, before,
                                    state, v1::SEVERITY_INFO);
  for (const Sample& sample : verdict_samples_) {
    if (by_canary) note.AddEvidence(sample, shared_.clock);
  }
  troubles_.Close(note, now, now);
  troubles_.SettleOver();
}

void Subject::Quarantine(const std::string& name, const std::string& why, absl::Time now) {
  Trouble& trouble = troubles_.OpenOwn(name, why, now, now, state_, v1::GPU_STATE_QUARANTINED, v1::SEVERITY_CRITICAL);
  Enter(v1::GPU_STATE_QUARANTINED, now);
  troubles_.Close(trouble, now, now);
}

void Subject::ReleaseAsked(const Sample& sample) {
  release_asked_ = sample.text.empty() ? "an operator" : sample.text;
  release_asked_at_ = sample.at;
  canary_asked_ = absl::InfinitePast();
  shared_.touched.insert(gpu_);
}

// He has it out of our hands; what is bad still is found again, and is another incident.
void Subject::Released(const Sample& sample, absl::Time now) {
  if (state_ < v1::GPU_STATE_COOLING) return;
  for (Trouble& trouble : troubles_.all()) {
    trouble.target = std::min(trouble.target, v1::GPU_STATE_SUSPECT);
    trouble.pauses = false;
  }
  Return(v1::GPU_STATE_SUSPECT, absl::StrCat("forced by ", sample.text.empty() ? "an operator" : sample.text), now);
}

void Subject::AskCanary(absl::Time now) {
  if (!canary_.IsDue(now, state_ <= v1::GPU_STATE_SUSPECT)) return;
  canary_.Asked(now);
  canary_asked_ = now;
  Decision decision;
  decision.kind = DecisionKind::kRunCanary;
  decision.gpu = gpu_;
  shared_.Decide(std::move(decision));
}

void Subject::SayAgain() {
  canary_.Want();
  if (hold_ && hold_->kind != DecisionKind::kResume) hold_ = absl::nullopt;
  for (const Trouble& trouble : troubles_.all()) {
    if (trouble.excludes && !trouble.over) troubles_.Exclude(trouble, false);
  }
}

void Subject::SayHold(const Around& around) {
  const bool by_host = around.host != nullptr && around.host->Pauses();
  Hold wanted;
  if (state_ == v1::GPU_STATE_QUARANTINED) {
    wanted = {DecisionKind::kQuarantine, state_};
  } else if (state_ == v1::GPU_STATE_COOLING) {
    wanted = {DecisionKind::kPause, state_};
  } else if (troubles_.Pauses() || by_host) {
    wanted = {DecisionKind::kPause, v1::GPU_STATE_PAUSED};
  }
  const bool release = release_due_ && wanted.kind == DecisionKind::kResume;
  if (hold_ && *hold_ == wanted && !release) return;
  hold_ = wanted;
  const Trouble* cause = troubles_.Worst();
  if (cause == nullptr && !troubles_.all().empty()) cause = &troubles_.all().back();
  if (wanted.state == v1::GPU_STATE_PAUSED && !troubles_.Pauses()) cause = around.host->Worst();
  Decision decision;
  decision.kind = release ? DecisionKind::kRelease : wanted.kind;
  if (release) release_due_ = false;
  decision.state = wanted.state;
  decision.gpu = gpu_;
  decision.reason = cause == nullptr ? "healthy again" : cause->incident.reason();
  if (cause != nullptr && wanted.kind != DecisionKind::kResume) decision.incident_id = cause->incident.id();
  shared_.Decide(std::move(decision));
}

}  // namespace sassay::monitor
