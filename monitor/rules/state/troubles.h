// The incidents of one GPU (or the host), and who is told about them.
//
// Why apart from the state: opening, revising and closing an incident, with its exclusions and its record, is the same
// whatever the state makes of it.
#ifndef SASSAY_MONITOR_RULES_STATE_TROUBLES_H_
#define SASSAY_MONITOR_RULES_STATE_TROUBLES_H_

#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "monitor/rules/state/outbox.h"
#include "monitor/rules/state/trouble.h"
#include "monitor/rules/watch/rule_watch.h"
#include "sassay/v1/monitor_state.pb.h"

namespace sassay::monitor {

// What all GPUs and the host have in common. Owned by the engine.
struct Shared {
  const v1::MonitorConfig& config;
  std::string host;
  Clock clock;
  Outbox outbox;
  uint64_t next_incident = 1;
  std::set<std::string> gpus;         // known ones
  std::set<std::string> touched;      // subjects whose records are to be written
  std::vector<v1::Incident> revised;  // incidents that are to be written

  void Decide(Decision decision, bool announces = true);
};

// Thread-compatible; times are steady.
class Troubles {
 public:
  // `gpu` is empty for the host, whose exclusions are those of every GPU. `shared` must outlive it.
  Troubles(std::string gpu, Shared& shared) : gpu_(std::move(gpu)), shared_(shared) {}

  // Opens one by a rule. `before`: the state that the GPU has now.
  Trouble& Open(const RuleWatch& watch, absl::Time now, v1::GpuState before);
  // Opens one that is the engine's own, and that says of a GPU how its state changed.
  Trouble& OpenOwn(const std::string& name, const std::string& reason, absl::Time from, absl::Time now,
                   v1::GpuState before, v1::GpuState after, v1::Severity severity);
  // Events of somebody who was convicted: one INFO incident as long as they keep coming.
  void Excuse(const RuleWatch& watch, const Excused& excused, absl::Time now, v1::GpuState state);
  // The trouble was bad until `last_bad`, as `sample` says.
  void Extend(Trouble& trouble, const Sample& sample, absl::Time last_bad);
  // The window ends; exclusions are told so.
  void Close(Trouble& trouble, absl::Time to, absl::Time now);
  // Asks for the exclusion of its window, as it is.
  void Exclude(const Trouble& trouble, bool announces);
  // For the host: its open windows are also those of a GPU that nobody knew when they were opened.
  void ExcludeNewcomer(const std::string& gpu);
  // A window that is over already and is excluded at once.
  void ExcludePast(Trouble& trouble, absl::Time to, absl::Time now);

  // The one of this rule whose window is open; null if there is none.
  Trouble* Current(const std::string& rule, bool excused = false);
  Trouble* Find(const std::string& incident_id);
  // The highest state that open windows ask for; HEALTHY if none does.
  v1::GpuState Needed() const;
  // The open one that asks for most; null if there is none.
  const Trouble* Worst() const;
  bool Pauses() const;
  // Closes excused ones that are quiet, and records what changed.
  void Settle(absl::Time now);
  // Records what changed, at once.
  void Revise(Trouble& trouble, absl::Time now);
  // The state waits for none of those that are over: they are forgotten soon.
  void SettleOver();
  // Closes every window by the clock as it was and opens it again by the clock as it is.
  void Reopen(const Clock& before, absl::Time now);

  std::list<Trouble>& all() { return all_; }
  const std::list<Trouble>& all() const { return all_; }

 private:
  Decision ExclusionOf(const Trouble& trouble) const;
  Trouble& Start(const std::string& name, const std::string& reason, absl::Time from, absl::Time now);
  std::string NewId(const std::string& rule, absl::Time now);
  const std::string gpu_;
  Shared& shared_;
  std::list<Trouble> all_;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_STATE_TROUBLES_H_
