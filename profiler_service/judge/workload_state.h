// What the judge knows about one (workload, seed, distribution): the inputs' bytes and the reference's answer.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_WORKLOAD_STATE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_WORKLOAD_STATE_H_

#include <atomic>
#include <cstdint>
#include <list>
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
#include "common/workload/catalog.h"
#include "common/workload/safetensors.h"
#include "profiler_service/judge/numerics/compare.h"
#include "profiler_service/judge/reference/reference.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// Where states come from: definitions (for golden tensors), threads, and how long a reference may compute.
struct StateOptions {
  // Holds the workloads' definitions; must outlive the states.
  const WorkloadCatalog* catalog = nullptr;
  int threads = 1;
  double reference_limit_seconds = 60;
  // Multiply-adds a second that `threads` threads make together; see MeasureMultiplyAdds.
  double multiply_adds_per_second = 1e9;
};

// Runs a small product and says how many multiply-adds a second this machine makes on `threads` threads.
double MeasureMultiplyAdds(int threads);

// Seconds that the reference of `workload` would take on this machine; 0 for references that do not compute on the CPU.
absl::StatusOr<double> ReferenceSeconds(const sassay::v1::Workload& workload, const StateOptions& options);

// Inputs and expected outputs. The expected outputs are computed at the first question, or handed in (a reference that
// is a kernel).
//
// Threads: ExpectedOutputs may be called from several threads, one of which computes; what it returned stays valid
// until AdoptOutputs, which only the thread that compares may call. Everything else is constant.
class WorkloadState {
 public:
  // OUT_OF_RANGE, at once, if the reference would take longer than the limit: a refusal, never a wrong verdict.
  // NOT_FOUND, INVALID_ARGUMENT as MakeReference and ParseDistribution. CANCELLED soon after `stop` (may be null) is
  // set.
  static absl::StatusOr<std::shared_ptr<WorkloadState>> Create(const sassay::v1::Workload& workload, uint64_t seed,
                                                               absl::string_view distribution,
                                                               const StateOptions& options,
                                                               const std::atomic<bool>* stop = nullptr);

  // Bytes of the workload's inputs, in order; scalars included.
  const std::vector<std::string>& inputs() const { return inputs_; }
  // One per output. FAILED_PRECONDITION if the reference is a kernel whose outputs were not handed in yet.
  // CANCELLED soon after `stop` (may be null) is set; INTERNAL if the reference computes what is no number.
  absl::StatusOr<const std::vector<Expected>*> ExpectedOutputs(const std::atomic<bool>* stop = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The deciding rule's multiples for one output.
  const Tolerance& tolerance(int output) const { return tolerances_[output]; }
  // Outputs of the approved reference kernel, in order. Their own rounding is added to the noise.
  absl::Status AdoptOutputs(const std::vector<std::string>& outputs) ABSL_LOCKS_EXCLUDED(mutex_);

  uint64_t bytes() const { return bytes_; }
  // Whether a case has had it before; from now on one has. Thread-safe.
  bool TakeIntoUse() { return used_.exchange(true); }

 private:
  WorkloadState(const sassay::v1::Workload& workload, const StateOptions& options)
      : workload_(workload), threads_(options.threads) {}
  void ReadTolerances(const Definition& definition);
  absl::Status LoadGolden(const std::string& path);
  absl::StatusOr<std::string> GoldenScalar(const std::map<std::string, StoredTensor>& tensors,
                                           const sassay::v1::TensorSpec& scalar) const;
  absl::Status Generate(const Definition& definition, uint64_t seed, absl::string_view distribution,
                        const std::atomic<bool>* stop);
  absl::Status CheckFinite(const std::vector<Expected>& computed) const;
  void AddRounding(int output, Expected& expected) const;
  void Count();

  const sassay::v1::Workload workload_;
  const int threads_;
  std::unique_ptr<Reference> reference_;  // null for kernels and golden tensors
  std::vector<std::string> inputs_;
  absl::Mutex mutex_;               // held while the reference computes
  std::vector<Expected> expected_;  // empty until known
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> used_{false};
  std::vector<Tolerance> tolerances_;
  std::vector<double> noise_of_rms_;
};

// The states used last, up to a number of bytes, and those that somebody holds. Thread-safe: a state is made without
// the lock; of two threads that make the same one, the first wins.
class StateCache {
 public:
  StateCache(const StateOptions& options, uint64_t budget_bytes) : options_(options), budget_bytes_(budget_bytes) {}

  // The state, made if it is not there. Failures as WorkloadState::Create.
  absl::StatusOr<std::shared_ptr<WorkloadState>> Get(const sassay::v1::Workload& workload, uint64_t seed,
                                                     absl::string_view distribution,
                                                     const std::atomic<bool>* stop = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The state if it is there.
  std::shared_ptr<WorkloadState> Find(const sassay::v1::Workload& workload, uint64_t seed,
                                      absl::string_view distribution) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return order_.size();
  }
  // Forgets what was used longest ago until the rest fits. States grow when their reference is computed.
  void Trim() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Entry = std::pair<std::string, std::shared_ptr<WorkloadState>>;

  std::shared_ptr<WorkloadState> FindLocked(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TrimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StateOptions options_;
  const uint64_t budget_bytes_;
  mutable absl::Mutex mutex_;
  std::list<Entry> order_ ABSL_GUARDED_BY(mutex_);  // used last first
  std::map<std::string, std::list<Entry>::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_WORKLOAD_STATE_H_
