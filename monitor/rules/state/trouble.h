// An incident as the engine works on it, and how it becomes the Incident that others read.
#ifndef SASSAY_MONITOR_RULES_STATE_TROUBLE_H_
#define SASSAY_MONITOR_RULES_STATE_TROUBLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "monitor/sources/source.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/monitor.pb.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

// The wall clock as it stands to the steady one.
struct Clock {
  absl::Duration offset;
  absl::Time Wall(absl::Time steady) const { return steady + offset; }
  absl::Time Steady(absl::Time wall) const { return wall - offset; }
};

// A value; times are steady unless they say otherwise. Not over: the window is open. Over: kept until the GPU is
// healthy again, for what its state still waits for.
struct Trouble {
  static constexpr int kMostEvidence = 16;
  static constexpr int kMostActions = 32;

  v1::Incident incident;           // as last recorded
  const v1::Rule* rule = nullptr;  // null: one that the engine makes by itself, or whose rule is gone
  absl::Time last_bad = absl::InfinitePast();
  absl::Time opened = absl::InfinitePast();   // when it was found
  absl::Time revised = absl::InfinitePast();  // last revision
  v1::GpuState target = v1::GPU_STATE_HEALTHY;
  bool pauses = false;
  bool excludes = false;
  bool wants_canary = false;
  bool excused = false;  // of somebody who was convicted: one line, and nothing else
  bool over = false;
  bool settled =
      false;  // over, and the state waits for nothing of it any more; kept a while for what is still done about it
  bool changed = false;  // there is something that no revision has yet

  absl::Time FromWall() const;
  absl::Time ToWall() const;
  bool Does(v1::Rule::Action action) const;
  void AddEvidence(const Sample& sample, const Clock& clock);
  void AddAction(absl::Time now, absl::string_view what, const Clock& clock);
};

// The state that a rule asks for; HEALTHY if none.
v1::GpuState TargetOf(const v1::Rule& rule);

// "gpu.temperature_celsius 91.2" with the text, if it has one.
std::string Describe(const Sample& sample);

v1::Sample ToProto(const Sample& sample, const Clock& clock);

v1::OpenIncident ToProto(const Trouble& trouble, const Clock& clock);
// `rule`: null if it is gone.
Trouble FromProto(const v1::OpenIncident& kept, const v1::Rule* rule, const Clock& clock);

// Times of the journal: nanoseconds of the wall clock, 0 for none.
int64_t KeptTime(absl::Time steady, const Clock& clock);
absl::Time FromKept(int64_t nanos, const Clock& clock);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_TROUBLE_H_
