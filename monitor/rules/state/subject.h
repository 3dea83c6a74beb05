// One GPU, or the host: its rules, its state, and what follows from them.
//
//                bad: SUSPECT rule                     bad: COOLING rule
//     HEALTHY ---------------------> SUSPECT ------------------------------+
//        ^  ^--- good again, -----------|                                  v
//        |       clean canary                                           COOLING <--- bad again
//        +--- good again, minimum time over, clean canary ----------------|
//        |                                                                | too often, too long
//        +--- released by an operator (or policy), clean canary --- QUARANTINED <--- bad: QUARANTINED rule
#ifndef SASSAY_MONITOR_RULES_STATE_SUBJECT_H_
#define SASSAY_MONITOR_RULES_STATE_SUBJECT_H_

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "monitor/rules/state/canary_book.h"
#include "monitor/rules/state/restart_backoff.h"
#include "monitor/rules/state/troubles.h"
#include "monitor/rules/watch/rule_watch.h"
#include "monitor/rules/watch/watermark.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

// Life cycle of one step: Begin, Take each sample, Conclude. Thread-compatible; times are steady.
class Subject {
 public:
  // `gpu` is empty for the host. `shared` must outlive it.
  Subject(std::string gpu, Shared& shared);

  void Begin(absl::Time now);
  // Any sample of this GPU (of the host, for the host).
  void Take(const Sample& sample, absl::Time now);
  // A sample of a GPU that rules of the host listen to.
  void Hear(const Sample& sample) { Feed(sample); }
  // A reading of a source, which all GPUs share.
  void TakeSource(const Sample& sample) { watermark_.Take(sample); }
  // `host`: the host's incidents, for a GPU; `limit`: the watermark must not pass it; `peers`: canary medians of the
  // other GPUs of the model.
  struct Around {
    const Troubles* host = nullptr;
    absl::Time limit = absl::InfiniteFuture();
    CanaryTimes peers;
  };
  void Conclude(absl::Time now, const Around& around);
  // A canary came with the samples of this step: Around::peers is asked for.
  bool TookCanary() const { return taken_at_ != absl::InfinitePast(); }
  // The canary could not be run, or not now.
  void CanaryAnswered(const absl::Status& status, absl::Time now);
  // The wall clock was set.
  void Reopen(const Clock& before, absl::Time now) { troubles_.Reopen(before, now); }
  // The service started anew: what holds is said again, and its judge runs the canary.
  void SayAgain();

  // Where a window may yet begin that excludes.
  absl::Time DoubtSince() const;
  CanaryTimes CanaryReference() const { return canary_.Reference(); }
  const CanaryBook& canary() const { return canary_; }
  const std::string& gpu() const { return gpu_; }
  const std::string& model() const { return model_; }
  v1::GpuState state() const { return state_; }
  absl::Time since() const { return since_; }
  absl::Time healthy_through() const { return watermark_.through(); }
  absl::Time watched_since() const { return watermark_.since(); }
  std::string Reason() const;
  Troubles& troubles() { return troubles_; }
  const Troubles& troubles() const { return troubles_; }

  v1::SubjectState Record() const;
  v1::WatchMark Mark() const;
  // Before the first Begin, in this order; a mark may be missing.
  void Restore(const v1::SubjectState& record);
  void Restore(const v1::WatchMark& mark);

 private:
  struct Hold {
    DecisionKind kind = DecisionKind::kResume;
    v1::GpuState state = v1::GPU_STATE_UNSPECIFIED;
    bool operator==(const Hold& other) const { return kind == other.kind && state == other.state; }
  };
  bool IsHost() const { return gpu_.empty(); }
  void Feed(const Sample& sample);
  void TakeCanary(const Around& around, absl::Time now);
  void FeedVerdict(const CanaryVerdict& verdict);
  void JudgeRules(absl::Time now);
  void OpenByRule(const RuleWatch& watch, absl::Time now);
  void CloseGone(absl::Time now);
  bool Escalates(const v1::Rule& rule, absl::Time now);
  bool WantsRestart(const Trouble& trouble) const;
  void Restart(absl::Time now);
  void RestartStorm(absl::Time now);
  void MoveState(absl::Time now);
  void LeaveSuspect(absl::Time now);
  void LeaveCooling(absl::Time now);
  void LeaveQuarantine(absl::Time now);
  void GiveUpCooling(absl::Time now);
  void Enter(v1::GpuState state, absl::Time now);
  void Return(v1::GpuState state, const std::string& why, absl::Time now);
  void Quarantine(const std::string& name, const std::string& why, absl::Time now);
  void Refuse(const std::string& why, absl::Time now);
  void ReleaseAsked(const Sample& sample);
  void Released(const Sample& sample, absl::Time now);
  bool CleanSince(absl::Time since) const;
  void WantCanary(absl::Time now);
  void AskCanary(absl::Time now);
  void SayHold(const Around& around);
  void MoveWatermark(absl::Time now, const Around& around);

  const std::string gpu_;
  Shared& shared_;
  std::string model_;
  std::vector<std::unique_ptr<RuleWatch>> watches_;
  std::unordered_map<std::string, std::vector<RuleWatch*>> by_signal_;
  Troubles troubles_;
  CanaryBook canary_;
  RestartBackoff restarts_;
  Watermark watermark_;
  v1::GpuState state_ = v1::GPU_STATE_HEALTHY;
  absl::Time since_ = absl::InfinitePast();
  absl::Time over_ = absl::InfinitePast();  // when the last incident that kept it from working was over
  std::map<std::string, std::deque<absl::Time>> occurrences_;
  absl::optional<Hold> hold_;  // as was said last; nullopt while nothing was said
  bool release_due_ = false;   // an operator asked, and it may
  std::string release_asked_;
  absl::Time release_asked_at_ = absl::InfinitePast();
  absl::Time canary_asked_ = absl::InfinitePast();
  CanaryTimes taken_;
  absl::Time taken_at_ = absl::InfinitePast();
  std::vector<Sample> verdict_samples_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_SUBJECT_H_
