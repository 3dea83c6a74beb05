// Which nodes there are, as every front end on the same store sees it.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_NODE_REGISTRY_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_NODE_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/cluster.pb.h"

namespace sassay::cluster {

struct Node {
  std::string name;      // with the name of its token before it: "pool/gpu-7"
  std::string instance;  // empty: it has left, and may come back
  sassay::v1::NodeFacts facts;
  absl::Time seen;
  bool draining = false;

  bool Has(absl::string_view gpu) const;
};

// How many there are, for metrics.
struct NodeCounts {
  uint64_t living = 0, draining = 0, silent = 0, left = 0;
  uint64_t places = 0;             // of the living ones
  absl::Duration longest_silence;  // of a living or draining one

  using State = uint64_t NodeCounts::*;
  static std::vector<std::pair<State, std::string>> States() {
    return {{&NodeCounts::living, "living"},
            {&NodeCounts::draining, "draining"},
            {&NodeCounts::silent, "silent"},
            {&NodeCounts::left, "left"}};
  }
};

// Kept in the store, read again at most once a second: what one front end was told, the others know as late as that.
// Thread-safe. `store` outlives it. UNAVAILABLE where the store is.
class NodeRegistry {
 public:
  // A node says this often that it lives …
  static constexpr absl::Duration kBeat = absl::Seconds(2);
  // … and one that has not for so long is taken for dead: its name and GPUs are free.
  static constexpr absl::Duration kSilence = absl::Seconds(10);
  // One that has not for so long is forgotten: what only it could run is refused from then on.
  static constexpr absl::Duration kForgotten = absl::Hours(24);

  using NodePtr = std::shared_ptr<const Node>;

  explicit NodeRegistry(store::Store& store, std::function<absl::Time()> now = absl::Now)
      : store_(store), now_(std::move(now)) {}

  // INVALID_ARGUMENT for facts that cannot be; ALREADY_EXISTS says which living node has the name or a GPU. A silent
  // node that had one of them is not registered any more: should it wake, it must come again.
  absl::Status Register(const std::string& name, const std::string& instance, const sassay::v1::NodeFacts& facts)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND: that instance is not registered.
  absl::Status Beat(const std::string& name, const std::string& instance, bool draining) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Leave(const std::string& name, const std::string& instance) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<NodePtr> Find(const std::string& name, const std::string& instance) ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that live, and all that are not forgotten; sorted by name. Where the store cannot be read: as it last was.
  std::vector<NodePtr> Living() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<NodePtr> Known() ABSL_LOCKS_EXCLUDED(mutex_);
  NodeCounts Count() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a living node has this GPU.
  bool IsOfLivingNode(absl::string_view gpu) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops those that are forgotten.
  void KeepHouse() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Lives(const Node& node) const;
  absl::Status Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefreshIfOld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<NodePtr> FindLocked(const std::string& name, const std::string& instance)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Keep(Node node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckFree(const Node& node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // From silent nodes that had its GPUs under another name.
  absl::Status TakeOver(const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  store::Store& store_;
  const std::function<absl::Time()> now_;
  absl::Mutex mutex_;
  std::map<std::string, NodePtr> nodes_ ABSL_GUARDED_BY(mutex_);
  absl::Time read_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of SteadyNow
};

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_NODE_REGISTRY_H_
