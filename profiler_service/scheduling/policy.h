// Who is next: which waiting submission a node that asks for work gets, or none and why.
//
// Start-time fair queuing between tenants, by GPU time actually used and by weight; interactive work may borrow a
// bounded advance; batch work keeps a bounded part; affinity within a bounded unfairness; constraints. The formulas,
// bounds and their sources are in docs/decisions/0016-who-is-next.md. The stores' Acquire and the simulation
// (tests/sim) call this same function.
//
// What a GPU that is timed on needs (nobody else on it) is no matter of the policy: a job has a place on a GPU, and
// within its places the GPU's own lease (pipeline/lanes/device_lease.h) lets timing have it alone.
//
// A pure function: no clock, no randomness, no state. What waits is read through `heads_of`, which must answer out of
// one snapshot; it is asked for few tenants, so that nobody reads what cannot be next.
#ifndef SASSAY_PROFILER_SERVICE_SCHEDULING_POLICY_H_
#define SASSAY_PROFILER_SERVICE_SCHEDULING_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/scheduling/account.h"

namespace sassay::scheduling {

// The first of a line of waiting submissions that need the same.
struct Head {
  std::string id;
  Priority priority = Priority::kInteractive;
  std::string model;  // only GPUs of this model; any if empty
  std::string state;  // what a node had better hold: its workload's; none if empty
  absl::Time accepted_at;
  uint64_t place = 0;  // among those that were accepted at the same time
  absl::Time queue_deadline = absl::InfiniteFuture();
  // Nodes on which it was lost in a row, each once: their process crashed, or fell silent, while it ran.
  std::vector<std::string> lost_on;
};

// All GPUs of one architecture, and who shares them.
struct Pool {
  VirtualTime virtual_time;
  uint64_t gpus = 1;                // of living nodes that take work
  std::vector<Account> accounts;    // of tenants that have something waiting or running; each tenant once
  std::vector<std::string> living;  // nodes that are heard of and take work of this pool
};

// Who asks.
struct Node {
  std::string name;
  bool draining = false;
  std::vector<std::string> models;  // of its GPUs in this pool that have a free place; sorted
  uint32_t places = 1;              // free places
  uint32_t suspects = 0;            // of what runs there was lost before
  std::vector<std::string> states;  // what it holds; sorted
};

// Why somebody gets nothing, or this head is not for this node.
enum class Why {
  kChosen,
  kNothingWaits,
  kDraining,
  kNoPlace,
  kModel,            // all that waits wants other models
  kDeadlinePassed,   // … waited past its deadline
  kLostHere,         // … was lost on this node, and there are others
  kLostOften,        // … was lost on as many nodes as may be, and goes back to one of those
  kSuspectIsRunning  // … was lost before, and the node runs one such already
};
// For logs and operators: "all that waits wants another GPU model".
absl::string_view Explain(Why why);

struct Decision {
  Why why = Why::kNothingWaits;
  size_t account = 0;         // index in Pool::accounts, if chosen
  absl::optional<Head> head;  // if chosen
  bool affine = false;        // the node holds its state
  Charge charge;
  VirtualTime virtual_time;  // the pool's from now on; never less than before
};

// The heads of a tenant's lines, of both classes: for each set of needs the first that waits, for each of the node's
// `states` the first of each class that wants it, and the first of those that were lost. More is allowed.
using HeadsOf = absl::FunctionRef<absl::StatusOr<std::vector<Head>>(const Account&)>;

// What keeps this node from running it; kChosen if nothing does.
Why Obstacle(const Head& head, const Node& node, const Pool& pool, absl::Time now, const Rules& rules);

// Errors are those of `heads_of`.
absl::StatusOr<Decision> Decide(const Pool& pool, const Node& node, absl::Time now, const Rules& rules,
                                HeadsOf heads_of);

}  // namespace sassay::scheduling

#endif  // SASSAY_PROFILER_SERVICE_SCHEDULING_POLICY_H_
