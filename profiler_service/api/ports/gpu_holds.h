// Who keeps which GPU from taking work.
//
// An operator's pause is not the monitor's to end, and the other way round; both have to hold after a restart. So holds
// are records, one per GPU and holder, and a GPU is open exactly while it has none.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_GPU_HOLDS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_GPU_HOLDS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/pipeline/lanes/gpus.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/control.pb.h"

namespace sassay::api {

// Thread-safe. Life cycle: Start, before work is handed out, applies what was kept. `store` and `gpus` outlive it.
// Changes are durable before they act and before they are answered; UNAVAILABLE: nothing was changed, or less than was
// asked, and never a GPU opened that somebody else holds.
class GpuHolds {
 public:
  GpuHolds(store::Store& store, pipeline::Gpus& gpus) : store_(store), gpus_(gpus) {}

  absl::Status Start() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes over what others have changed in the store.
  absl::Status Refresh() ABSL_LOCKS_EXCLUDED(mutex_);

  // NOT_FOUND for a GPU that is not here; empty is all of them.
  absl::Status CheckGpu(absl::string_view gpu) const;
  // Replaces what the holder had there. NOT_FOUND.
  absl::Status Place(store::Hold hold) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends what the holder has on a GPU, or (empty) on all. One GPU out of a hold of all: the others stay held.
  // NOT_FOUND.
  absl::Status Lift(absl::string_view gpu, absl::string_view holder) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends what anybody has on a GPU. NOT_FOUND.
  absl::Status LiftEveryones(absl::string_view gpu) ABSL_LOCKS_EXCLUDED(mutex_);

  // All GPUs, sorted by uuid, with state, reason and holds; HEALTHY where nobody holds one.
  std::vector<sassay::v1::Gpu> List() const ABSL_LOCKS_EXCLUDED(mutex_);
  // There are GPUs, and every one is held.
  bool AllHeld() const;

 private:
  using Key = std::pair<std::string, std::string>;  // GPU, holder

  // Answers whether that brought something new.
  absl::StatusOr<bool> Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PlaceLocked(store::Hold hold) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status LiftLocked(const std::string& gpu, const std::string& holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Turns a hold of all GPUs into one of each but `gpu`.
  absl::Status TakeOutOfAll(absl::string_view gpu, const std::string& holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those that cover the GPU, the gravest first.
  std::vector<store::Hold> Covering(absl::string_view gpu) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Apply(absl::string_view gpu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ApplyAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  store::Store& store_;
  pipeline::Gpus& gpus_;
  mutable absl::Mutex mutex_;
  std::map<Key, store::Hold> holds_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_GPU_HOLDS_H_
