// The monitor's judgement, alone: samples and time in, states, incidents and decisions out.
//
// Why alone: no clock, no thread, no file and no socket, so that ten thousand minutes are a test of seconds, and what
// the monitor did on a bad night can be played again from its samples.
#ifndef SASSAY_MONITOR_RULES_ENGINE_H_
#define SASSAY_MONITOR_RULES_ENGINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "monitor/rules/decision.h"
#include "monitor/sources/source.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/monitor.pb.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

// One moment by both clocks, read together: samples and waiting go by the steady one (common/base/steady_time.h), what
// is said to others by the wall clock. A step of their difference is a jump of the wall clock, which closes every
// window and opens it again.
struct Now {
  absl::Time steady;
  absl::Time wall;
};

// One GPU, or the host (without a uuid), as operators and metrics see it.
struct SubjectView {
  std::string gpu;
  std::string model;
  v1::GpuState state = v1::GPU_STATE_HEALTHY;
  std::string reason;                                 // why it is not healthy; empty where it is
  absl::Time since = absl::InfinitePast();            // wall clock
  absl::Time healthy_through = absl::InfinitePast();  // wall clock; InfinitePast while that cannot be said
  double canary_tensor_ratio = 0;                     // over what it is compared with; 0 while unknown
  double canary_memory_ratio = 0;
  absl::Time last_canary = absl::InfinitePast();  // wall clock
  std::vector<v1::Incident> open;                 // incidents that are not over, oldest first
};

// Life cycle: construct, Restore what the journal had (if anything), then for ever
//
//     Step(now, samples) -> write TakeJournal() to disk -> carry out Due() -> Acknowledge each -> Report() to the
//     service.
//
// Threads: thread-compatible. Memory: bounded by the number of GPUs and rules. Deterministic: the same calls give the
// same answers.
class Engine {
 public:
  // `config` has been checked (ParseConfig). `host` goes into incidents.
  Engine(v1::MonitorConfig config, std::string host);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Takes up what Journal::Open gave, before the first Step. A GPU with an open incident stays held until samples say
  // that it is over; the time in between counts as watched only if cumulative counters prove that nothing was in force.
  void Restore(const std::vector<v1::JournalEntry>& entries);

  // Takes samples (of any GPU, in any order; those of one signal oldest first) and the time. Due() is what follows.
  void Step(const Now& now, const std::vector<Sample>& samples);

  // What must be durable before Due() is carried out; empties itself.
  std::vector<v1::JournalEntry> TakeJournal();
  // Everything, as records: what a journal is compacted to, and what is written again after a write failed.
  std::vector<v1::JournalEntry> Snapshot() const;

  // What may be carried out now, oldest first, in any order and at the same time: what has to wait for something else
  // (a resume for the exclusions of its GPU) is not among them. Each is handed out once; again after it failed, or when
  // nothing was heard of it for 90 s. A newer state of a GPU replaces an older one here; incidents are never dropped.
  std::vector<Decision> Due(const Now& now);

  // What came of a decision. OK: done. Otherwise it stays pending and is due again after a pause that grows to 30 s.
  // NOT_FOUND: the service has no such GPU: done, too; so is a restart that is FAILED_PRECONDITION or UNIMPLEMENTED.
  // kRunCanary: acknowledge OK when it ran, with samples canary.tensor_ns and canary.memory_ns in the next Step, or
  // sample canary.failed (text: why) where the judge could not (UNAVAILABLE). DEADLINE_EXCEEDED: the GPU was busy; it
  // is asked again. FAILED_PRECONDITION or UNIMPLEMENTED: there can be none on this GPU.
  void Acknowledge(uint64_t id, const absl::Status& result, const Now& now);

  // The word on every GPU for Control.ReportHealth; `instance` is for the caller to fill in.
  v1::ReportHealthRequest Report() const;

  // Every GPU, sorted by uuid, and the host last.
  std::vector<SubjectView> View() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_ENGINE_H_
