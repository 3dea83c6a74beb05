// What a tenant has had of a pool of GPUs, in the terms in which shares are kept: start-time fair queuing by GPU time.
//
// A pool is all GPUs of one architecture: a cubin runs on no other, so the pools share nothing and each is fair by
// itself. Formulas and their sources: docs/decisions/0016-who-is-next.md. Everything here is a value; time comes from
// the caller.
#ifndef SASSAY_PROFILER_SERVICE_SCHEDULING_ACCOUNT_H_
#define SASSAY_PROFILER_SERVICE_SCHEDULING_ACCOUNT_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace sassay::scheduling {

// Which of two lines a submission waits in. The numbers are on disk.
enum class Priority { kInteractive = 0, kBatch = 1 };
inline constexpr size_t kPriorities = 2;

// GPU time divided by a tenant's weight: who has had less of it is next. Of one pool; it only grows.
using VirtualTime = absl::Duration;

// The rules' constants. Times "of the pool" are what all its GPUs do in so long.
struct Rules {
  // How far interactive work may run ahead of its tenant's share (the warp of borrowed virtual time).
  absl::Duration warp = absl::Seconds(10);
  // What a tenant that had nothing waiting may claim of the past when it comes back.
  absl::Duration credit = absl::Seconds(10);
  // How much earlier a tenant may be served because the node holds the state of its workload.
  absl::Duration affinity_slack = absl::Seconds(2);
  // For the same reason a submission of one tenant overtakes only those that were accepted at most so long before it.
  absl::Duration affinity_window = absl::Seconds(30);
  // Part of a tenant's GPU time that its batch work gets while its interactive work waits, too.
  double batch_share = 0.2;
  // What an attempt is taken to cost while nothing is known of its tenant.
  absl::Duration default_cost = absl::Seconds(5);
  // Recent use of a tenant counts half after so long.
  absl::Duration half_life = absl::Minutes(10);
  // A submission that was lost on so many nodes goes to no further one while any of them lives.
  size_t most_nodes_lost = 3;
};

// A sum that is forgotten exponentially: what was added `half_life` ago counts half.
struct Decayed {
  absl::Duration gpu_time;
  double attempts = 0;
  absl::Time as_of = absl::UnixEpoch();

  Decayed At(absl::Time now, absl::Duration half_life) const;
  void Add(absl::Duration cost, absl::Time now, absl::Duration half_life);
};

// One tenant in one pool.
struct Account {
  std::string tenant;
  uint32_t weight = 1;                          // at least 1
  std::array<uint64_t, kPriorities> waiting{};  // submissions, by class
  std::array<uint64_t, kPriorities> running{};  // attempts
  // What those that run were charged.
  std::array<absl::Duration, kPriorities> charged;
  // Everything it was charged for, by weight.
  VirtualTime pass;
  // What its batch work is owed (deficit counter), in GPU time.
  absl::Duration batch_credit;
  // By class, for estimates and for operators.
  std::array<Decayed, kPriorities> recent;

  uint64_t waits() const { return waiting[0] + waiting[1]; }
  bool active() const { return waits() + running[0] + running[1] > 0; }
};

// What an attempt of this class is taken to cost: the mean of recent ones, with `default_cost` as one more. Those that
// run count with their charges: what ends first is cheap, and a tenant that begins much at once would otherwise be
// taken for one whose attempts cost nothing.
absl::Duration EstimateCost(const Account& account, Priority priority, const Rules& rules);

// What dispatching changes in an account, in a form that several processes may apply at once: Apply says what each
// field means.
struct Charge {
  // What was charged; kept with the submission and given to Settle when the attempt has ended.
  absl::Duration cost;
  VirtualTime floor;                 // the pass is raised to this first
  VirtualTime step;                  // then it grows by this
  absl::Duration batch_credit_step;  // may be negative
  absl::Duration batch_credit_most;
};
// An attempt begins: it waits no more, and runs.
void Apply(const Charge& charge, Priority priority, Account& account);

// How an attempt ended, as far as it is paid for.
enum class Outcome {
  kRan,     // to its end, or until something of the service failed: it pays what it used
  kWasted,  // by us: it was stopped, killed from outside or excluded. It pays nothing
  // Its process or node crashed or fell silent: it pays what it was charged at least, or killing nodes would be free.
  kCrashed,
};

// What the end of an attempt changes.
struct Settlement {
  absl::Duration charged;  // runs no more
  absl::Duration used;     // is added to recent use
  VirtualTime correction;  // is added to the pass
};
Settlement Settle(absl::Duration charged, absl::Duration gpu_time, Outcome outcome, uint32_t weight);
void Apply(const Settlement& settlement, Priority priority, absl::Time now, const Rules& rules, Account& account);

// An int64 on disk, in microseconds: enough for 290,000 GPU years.
inline int64_t ToDisk(absl::Duration time) { return absl::ToInt64Microseconds(time); }
inline absl::Duration FromDisk(int64_t microseconds) { return absl::Microseconds(microseconds); }

}  // namespace sassay::scheduling

#endif  // SASSAY_PROFILER_SERVICE_SCHEDULING_ACCOUNT_H_
