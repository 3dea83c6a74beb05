#include "monitor/rules/state/troubles.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"

namespace sassay::monitor {
namespace {

// Between two revisions that only add to what was done.
constexpr absl::Duration kBetweenRevisions = absl::Seconds(1);
constexpr absl::Duration kKeptSettled = absl::Seconds(30);
// Convictions that follow each other within this are one incident: they are daily work.
constexpr absl::Duration kExcusedQuiet = absl::Minutes(5);
// Over ones that a GPU which is not healthy yet is held for.
constexpr size_t kMostOver = 32;

v1::Severity SeverityOf(const v1::Rule& rule) {
  switch (rule.severity()) {
    case v1::Rule::CRITICAL:
      return v1::SEVERITY_CRITICAL;
    case v1::Rule::WARNING:
      return v1::SEVERITY_WARNING;
    default:
      return v1::SEVERITY_INFO;
  }
}

// The worst of the newest samples, for the line that people read.
std::string ReasonOf(const RuleWatch& watch, const std::vector<Sample>& evidence) {
  const Sample& sample = evidence.empty() ? watch.newest() : evidence.back();
  return absl::StrCat(watch.rule().reason(), ": ", Describe(sample));
}

}  // namespace

void Shared::Decide(Decision decision, bool announces) {
  touched.insert(decision.gpu);
  outbox.Add(std::move(decision), announces);
}

std::string Troubles::NewId(const std::string& rule, absl::Time now) {
  const std::string time = absl::FormatTime("%Y%m%dT%H%M%S", shared_.clock.Wall(now), absl::UTCTimeZone());
  return absl::StrCat(time, "-", shared_.host, "-", rule, "-", shared_.next_incident++);
}

Trouble& Troubles::Start(const std::string& name, const std::string& reason, absl::Time from, absl::Time now) {
  Trouble& trouble = all_.emplace_back();
  trouble.opened = now;
  trouble.last_bad = from;
  v1::Incident& incident = trouble.incident;
  incident.set_id(NewId(name, now));
  incident.set_uuid(gpu_);
  incident.set_rule(name);
  incident.set_reason(reason);
  incident.set_host(shared_.host);
  SetTimestamp(shared_.clock.Wall(from), *incident.mutable_from());
  return trouble;
}

Trouble& Troubles::Open(const RuleWatch& watch, absl::Time now, v1::GpuState before) {
  const v1::Rule& rule = watch.rule();
  const std::vector<Sample> evidence = watch.Evidence();
  Trouble& trouble = Start(rule.name(), ReasonOf(watch, evidence), std::min(watch.WindowBegin(), now), now);
  trouble.rule = &rule;
  trouble.last_bad = watch.LastBad();
  trouble.target = TargetOf(rule);
  trouble.pauses = trouble.Does(v1::Rule::PAUSE) || trouble.target == v1::GPU_STATE_COOLING;
  trouble.excludes = trouble.Does(v1::Rule::EXCLUDE);
  trouble.wants_canary = trouble.Does(v1::Rule::RUN_CANARY);
  for (const Sample& sample : evidence) trouble.AddEvidence(sample, shared_.clock);
  trouble.incident.set_severity(SeverityOf(rule));
  if (!gpu_.empty()) {
    trouble.incident.set_before(before);
    trouble.incident.set_after(std::max(before, trouble.target));
  }
  return trouble;
}

Trouble& Troubles::OpenOwn(const std::string& name, const std::string& reason, absl::Time from, absl::Time now,
                           v1::GpuState before, v1::GpuState after, v1::Severity severity) {
  Trouble& trouble = Start(name, reason, from, now);
  trouble.incident.set_severity(severity);
  if (!gpu_.empty()) {
    trouble.incident.set_before(before);
    trouble.incident.set_after(after);
  }
  return trouble;
}

void Troubles::Excuse(const RuleWatch& watch, const Excused& excused, absl::Time now, v1::GpuState state) {
  Trouble* trouble = Current(watch.rule().name(), true);
  if (trouble == nullptr) {
    const std::string reason = absl::StrCat("a candidate's doing, which was convicted: ", Describe(excused.event));
    trouble = &OpenOwn(watch.rule().name(), reason, excused.event.at, now, state, state, v1::SEVERITY_INFO);
    trouble->excused = true;
    trouble->rule = &watch.rule();
  }
  trouble->last_bad = std::max(trouble->last_bad, excused.event.at);
  trouble->AddEvidence(excused.event, shared_.clock);
  trouble->AddEvidence(excused.by, shared_.clock);
  // One that is open for long says so when it ends.
  trouble->changed = trouble->incident.revision() == 0;
}

void Troubles::Extend(Trouble& trouble, const Sample& sample, absl::Time last_bad) {
  if (last_bad <= trouble.last_bad) return;
  const bool changed = trouble.changed;
  trouble.last_bad = last_bad;
  trouble.AddEvidence(sample, shared_.clock);
  // That it lasts is no news.
  trouble.changed = changed;
}

Decision Troubles::ExclusionOf(const Trouble& trouble) const {
  Decision decision;
  decision.kind = DecisionKind::kExclude;
  decision.incident_id = trouble.incident.id();
  decision.reason = absl::StrCat(trouble.incident.rule(), ": ", trouble.incident.reason());
  decision.from = trouble.FromWall();
  decision.to = trouble.ToWall();
  return decision;
}

void Troubles::ExcludeNewcomer(const std::string& gpu) {
  for (const Trouble& trouble : all_) {
    if (trouble.over || !trouble.excludes) continue;
    Decision decision = ExclusionOf(trouble);
    decision.gpu = gpu;
    shared_.Decide(std::move(decision), true);
  }
}

void Troubles::Exclude(const Trouble& trouble, bool announces) {
  Decision decision = ExclusionOf(trouble);
  if (!gpu_.empty()) {
    decision.gpu = gpu_;
    shared_.Decide(decision, announces);
    return;
  }
  for (const std::string& gpu : shared_.gpus) {
    decision.gpu = gpu;
    shared_.Decide(decision, announces);
  }
}

void Troubles::Close(Trouble& trouble, absl::Time to, absl::Time now) {
  // By the clock of its begin: a window never ends before that.
  const absl::Time wall = std::max(shared_.clock.Wall(to), trouble.FromWall());
  SetTimestamp(wall, *trouble.incident.mutable_to());
  trouble.over = true;
  if (trouble.excludes) Exclude(trouble, false);
  Revise(trouble, now);
}

void Troubles::ExcludePast(Trouble& trouble, absl::Time to, absl::Time now) {
  SetTimestamp(shared_.clock.Wall(to), *trouble.incident.mutable_to());
  trouble.over = true;
  trouble.excludes = true;
  Exclude(trouble, true);
  Revise(trouble, now);
}

Trouble* Troubles::Current(const std::string& rule, bool excused) {
  for (Trouble& trouble : all_) {
    if (!trouble.over && trouble.excused == excused && trouble.incident.rule() == rule) return &trouble;
  }
  return nullptr;
}

Trouble* Troubles::Find(const std::string& incident_id) {
  for (Trouble& trouble : all_) {
    if (trouble.incident.id() == incident_id) return &trouble;
  }
  return nullptr;
}

v1::GpuState Troubles::Needed() const {
  const Trouble* worst = Worst();
  return worst == nullptr ? v1::GPU_STATE_HEALTHY : worst->target;
}

const Trouble* Troubles::Worst() const {
  const Trouble* worst = nullptr;
  for (const Trouble& trouble : all_) {
    if (trouble.over || trouble.excused) continue;
    if (worst == nullptr || trouble.target > worst->target) worst = &trouble;
  }
  return worst;
}

bool Troubles::Pauses() const {
  return std::any_of(all_.begin(), all_.end(), [](const Trouble& trouble) { return trouble.pauses && !trouble.over; });
}

void Troubles::Revise(Trouble& trouble, absl::Time now) {
  trouble.incident.set_revision(trouble.incident.revision() + 1);
  trouble.revised = now;
  trouble.changed = false;
  Decision decision;
  decision.kind = DecisionKind::kRecordIncident;
  decision.gpu = gpu_;
  decision.incident_id = trouble.incident.id();
  decision.incident = trouble.incident;
  shared_.revised.push_back(trouble.incident);
  shared_.Decide(std::move(decision));
}

void Troubles::Settle(absl::Time now) {
  for (Trouble& trouble : all_) {
    const bool quiet = now - trouble.last_bad > kExcusedQuiet;
    if (trouble.excused && !trouble.over && trouble.incident.revision() > 0 && quiet) {
      Close(trouble, trouble.last_bad, now);
      trouble.settled = true;
    }
    const bool first = trouble.incident.revision() == 0;
    if (trouble.changed && (first || now - trouble.revised >= kBetweenRevisions)) Revise(trouble, now);
  }
  all_.remove_if([&](const Trouble& trouble) { return trouble.settled && now - trouble.revised > kKeptSettled; });
  size_t over = std::count_if(all_.begin(), all_.end(), [](const Trouble& trouble) { return trouble.over; });
  for (auto it = all_.begin(); it != all_.end() && over > kMostOver;) {
    const bool drop = it->over;
    over -= drop;
    it = drop ? all_.erase(it) : std::next(it);
  }
}

void Troubles::SettleOver() {
  for (Trouble& trouble : all_) trouble.settled |= trouble.over;
}

void Troubles::Reopen(const Clock& before, absl::Time now) {
  std::list<Trouble> again;
  const Clock after = shared_.clock;
  for (Trouble& trouble : all_) {
    if (trouble.over || trouble.excused) continue;
    Trouble next = trouble;
    shared_.clock = before;
    trouble.AddAction(now, "the wall clock was set: goes on in the next incident", before);
    Close(trouble, now, now);
    shared_.clock = after;
    next.incident.set_id(NewId(next.incident.rule(), now));
    next.incident.set_revision(0);
    next.incident.clear_actions();
    SetTimestamp(after.Wall(now), *next.incident.mutable_from());
    next.AddAction(now, absl::StrCat("goes on from incident ", trouble.incident.id()), after);
    again.push_back(std::move(next));
  }
  for (Trouble& next : again) {
    all_.push_back(std::move(next));
    if (all_.back().excludes) Exclude(all_.back(), true);
    Revise(all_.back(), now);
  }
}

}  // namespace sassay::monitor
