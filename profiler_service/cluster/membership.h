// A node's place in its cluster: it comes, says that it lives, and goes.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_MEMBERSHIP_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_MEMBERSHIP_H_

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/cluster/front_ends.h"
#include "sassay/v1/cluster.pb.h"
#include "sassay/v1/control.pb.h"

namespace sassay::cluster {

struct MembershipOptions {
  // How the node's workers are and which leases it holds, at each sign of life.
  std::function<std::vector<sassay::v1::GpuPulse>()> pulses;
  std::function<sassay::v1::HeldLeases()> held;
  // Whether this process was told to end: then nobody is waited for.
  std::function<bool()> give_up;
};

// Registered from Join to Leave, or to destruction, and sends signs of life from a thread of its own; a front end that
// does not know the node is told again what it has. Thread-safe. `front_ends` outlives it.
class Membership {
 public:
  // A former process of the same name that was killed holds it until its silence is noticed; so long a name that is
  // taken is waited for.
  static constexpr absl::Duration kNamePatience = absl::Seconds(20);

  // Waits while no front end answers, as nodes and front ends start in any order. CANCELLED if it was told to give up
  // meanwhile; ALREADY_EXISTS where the name or a GPU stays another's; UNIMPLEMENTED with what to do where a service
  // admits no nodes; others as Cluster.Register's.
  static absl::StatusOr<std::unique_ptr<Membership>> Join(FrontEnds& front_ends, MembershipOptions options);
  ~Membership();

  // From now on the node takes nothing new, and says so at once.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // The node's leases are returned and it ends. Idempotent.
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the last sign of life was heard.
  bool heard() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Membership(FrontEnds& front_ends, MembershipOptions options, absl::Duration interval);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Beat() ABSL_LOCKS_EXCLUDED(mutex_);
  void Note(const absl::Status& beat) ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToSay() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return leaving_ || say_now_; }

  FrontEnds& front_ends_;
  const MembershipOptions options_;
  const absl::Duration interval_;
  mutable absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool say_now_ ABSL_GUARDED_BY(mutex_) = false;
  bool leaving_ ABSL_GUARDED_BY(mutex_) = false;
  bool heard_ ABSL_GUARDED_BY(mutex_) = true;
  std::thread thread_;
};

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_MEMBERSHIP_H_
