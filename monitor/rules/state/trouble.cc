#include "monitor/rules/state/trouble.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/proto_time.h"
#include "common/base/utf8.h"

namespace sassay::monitor {
namespace {

constexpr size_t kLongestText = 300;

absl::Time FromTimestamp(const google::protobuf::Timestamp& stamp) {
  return absl::FromUnixNanos(stamp.seconds() * 1'000'000'000 + stamp.nanos());
}

std::string Cut(const std::string& text) { return ToUtf8(text.substr(0, kLongestText)); }

}  // namespace

absl::Time Trouble::FromWall() const { return FromTimestamp(incident.from()); }

absl::Time Trouble::ToWall() const { return incident.has_to() ? FromTimestamp(incident.to()) : absl::InfiniteFuture(); }

bool Trouble::Does(v1::Rule::Action action) const {
  return rule != nullptr && std::find(rule->actions().begin(), rule->actions().end(), action) != rule->actions().end();
}

void Trouble::AddEvidence(const Sample& sample, const Clock& clock) {
  auto& evidence = *incident.mutable_evidence();
  // The first ones say how it began; of those that follow, the last stands.
  if (evidence.size() >= kMostEvidence) evidence.RemoveLast();
  *evidence.Add() = ToProto(sample, clock);
  changed = true;
}

void Trouble::AddAction(absl::Time now, absl::string_view what, const Clock& clock) {
  auto& actions = *incident.mutable_actions();
  if (actions.size() >= kMostActions) actions.RemoveLast();
  const std::string time = absl::FormatTime("%H:%M:%E3SZ", clock.Wall(now), absl::UTCTimeZone());
  *actions.Add() = absl::StrCat(time, " ", Cut(std::string(what)));
  changed = true;
}

v1::GpuState TargetOf(const v1::Rule& rule) {
  switch (rule.state()) {
    case v1::Rule::SUSPECT:
      return v1::GPU_STATE_SUSPECT;
    case v1::Rule::COOLING:
      return v1::GPU_STATE_COOLING;
    case v1::Rule::QUARANTINED:
      return v1::GPU_STATE_QUARANTINED;
    default:
      return v1::GPU_STATE_HEALTHY;
  }
}

std::string Describe(const Sample& sample) {
  std::string line = absl::StrFormat("%s %.6g", sample.signal, sample.value);
  if (!sample.text.empty()) absl::StrAppend(&line, " (", Cut(sample.text), ")");
  return line;
}

v1::Sample ToProto(const Sample& sample, const Clock& clock) {
  v1::Sample out;
  SetTimestamp(clock.Wall(sample.at), *out.mutable_at());
  out.set_uuid(sample.gpu);
  out.set_signal(sample.signal);
  out.set_value(sample.value);
  out.set_text(Cut(sample.text));
  return out;
}

int64_t KeptTime(absl::Time steady, const Clock& clock) {
  const bool none = steady == absl::InfinitePast() || steady == absl::InfiniteFuture();
  return none ? 0 : absl::ToUnixNanos(clock.Wall(steady));
}

absl::Time FromKept(int64_t nanos, const Clock& clock) {
  return nanos == 0 ? absl::InfinitePast() : clock.Steady(absl::FromUnixNanos(nanos));
}

v1::OpenIncident ToProto(const Trouble& trouble, const Clock& clock) {
  v1::OpenIncident kept;
  *kept.mutable_incident() = trouble.incident;
  kept.set_last_bad_ns(KeptTime(trouble.last_bad, clock));
  kept.set_over(trouble.over);
  kept.set_target(trouble.target);
  kept.set_pauses(trouble.pauses);
  kept.set_excludes(trouble.excludes);
  kept.set_wants_canary(trouble.wants_canary);
  kept.set_excused(trouble.excused);
  kept.set_opened_ns(KeptTime(trouble.opened, clock));
  return kept;
}

Trouble FromProto(const v1::OpenIncident& kept, const v1::Rule* rule, const Clock& clock) {
  Trouble trouble;
  trouble.incident = kept.incident();
  trouble.rule = rule;
  trouble.last_bad = FromKept(kept.last_bad_ns(), clock);
  trouble.opened = FromKept(kept.opened_ns(), clock);
  trouble.target = kept.target() == v1::GPU_STATE_UNSPECIFIED ? v1::GPU_STATE_HEALTHY : kept.target();
  trouble.pauses = kept.pauses();
  trouble.excludes = kept.excludes();
  trouble.wants_canary = kept.wants_canary();
  trouble.excused = kept.excused();
  trouble.over = kept.over();
  return trouble;
}

}  // namespace sassay::monitor
