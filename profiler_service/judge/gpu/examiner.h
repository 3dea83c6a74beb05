// Judging where the tensors are: states kept on the GPU, buffers filled from them and compared with them there.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_EXAMINER_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_EXAMINER_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/workload/catalog.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "profiler_service/judge/gpu/library_noise.h"
#include "profiler_service/judge/gpu/reference.h"
#include "profiler_service/judge/numerics/compare.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// What the judge knows about one (workload, seed, distribution), on the device. Made and changed by Examiner alone.
class State {
 public:
  const sassay::v1::Workload& workload() const { return workload_; }
  uint64_t bytes() const;
  // Whether a case has had it before; from now on one has.
  bool TakeIntoUse() { return std::exchange(used_, true); }

 private:
  friend class Examiner;
  sassay::v1::Workload workload_;
  std::string key_, distribution_;
  std::unique_ptr<Reference> reference_;  // null where the reference is a kernel whose outputs are handed in
  std::vector<DeviceMemory> inputs_;      // none for scalars
  std::vector<ExpectedOutput> expected_;  // empty until known
  LibraryNoise::Measured library_;        // known with them
  bool used_ = false;
};

// A tensor of a case as it is after a call.
struct SeenTensor {
  bool output = false;
  int tensor = 0;  // index into the workload's inputs or outputs
  device::DeviceAddress address = 0;
  uint64_t poison_seed = 0;  // of an output: what it held before the call
};

struct ExaminerOptions {
  // Holds the definitions; must outlive the examiner.
  const WorkloadCatalog* catalog = nullptr;
  // What states may take on the device, those that cases hold included; one state may be larger.
  uint64_t budget_bytes = 0;
  // Makes the vendor library's call for a workload; empty for a judge that asks no library.
  LibraryNoise::MakeLibrary make_library;
  // What prepared calls of vendor libraries, the baselines' too, may hold as workspaces.
  uint64_t libraries_bytes = 0;
};

// Life cycle: one per judge on a CUDA device. Threads: thread-compatible; everything is done when a call returns.
// Ownership: the device must outlive it, states must not. Failure: a Status is our own trouble; what a candidate did is
// in the reply.
class Examiner {
 public:
  static absl::StatusOr<std::unique_ptr<Examiner>> Create(std::unique_ptr<Kernels> kernels,
                                                          const ExaminerOptions& options);

  Kernels& kernels() { return *kernels_; }

  // Whether states of the workload live here: its reference computes on the GPU, or is a kernel. Golden tensors come
  // from the host and are judged there.
  bool Takes(const sassay::v1::Workload& workload) const;

  // The state, made if it is not there: inputs now, expected outputs at the first comparison. INVALID_ARGUMENT for an
  // unknown distribution, RESOURCE_EXHAUSTED if it does not fit even alone.
  absl::StatusOr<std::shared_ptr<State>> Get(const sassay::v1::Workload& workload, uint64_t seed,
                                             absl::string_view distribution);

  // Writes the inputs of (workload, seed, distribution) to `buffers`, one for each input (0 for a scalar), and keeps
  // nothing of them.
  absl::Status WriteInputs(const sassay::v1::Workload& workload, uint64_t seed, absl::string_view distribution,
                           absl::Span<const device::DeviceAddress> buffers);

  // Copies an input of the state to a buffer.
  absl::Status WriteInput(const State& state, int tensor, device::DeviceAddress buffer);

  // Fills in numerics and findings. FAILED_PRECONDITION if the reference is a kernel whose outputs were not handed in,
  // INTERNAL if it is no number where it must be one.
  absl::Status Compare(State& state, absl::Span<const SeenTensor> seen, sassay::worker::JudgeReply& reply);

  // The part of Compare that is about inputs; outputs among `seen` are passed over.
  absl::Status CheckInputs(const State& state, absl::Span<const SeenTensor> seen, sassay::worker::JudgeReply& reply);

  // Outputs of the approved reference kernel, in order, as they lie in a case's buffers.
  absl::Status AdoptOutputs(State& state, const std::vector<device::DeviceAddress>& outputs);

  // What the judge may hold on the device besides the buffers of cases: states, the references' workspace, and
  // those of libraries.
  uint64_t reserved_bytes() const;
  // What all states take.
  uint64_t bytes() const;
  size_t states() const { return states_.size(); }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<State>>;  // by key

  Examiner(std::unique_ptr<Kernels> kernels, const ExaminerOptions& options)
      : kernels_(std::move(kernels)), options_(options), libraries_(options.make_library) {}
  absl::StatusOr<std::shared_ptr<State>> Make(const sassay::v1::Workload& workload, uint64_t seed,
                                              absl::string_view distribution);
  absl::Status Generate(State& state, const Definition& definition, uint64_t seed);
  absl::Status GenerateAt(const sassay::v1::Workload& workload, const Definition& definition, uint64_t seed,
                          absl::string_view distribution, absl::Span<const device::DeviceAddress> buffers,
                          const Reference* reference);
  absl::Status Expect(State& state);
  absl::Status AskLibrary(State& state);
  absl::Status CheckFinite(const State& state);
  absl::Status CheckInput(const State& state, const SeenTensor& seen, sassay::worker::JudgeReply& reply);
  absl::Status CheckOutput(const State& state, const SeenTensor& seen, sassay::worker::JudgeReply& reply);
  absl::StatusOr<ExpectedOutput> Adopt(const State& state, int output, device::DeviceAddress bytes);
  absl::StatusOr<const Definition*> DefinitionOf(const sassay::v1::Workload& workload) const;
  // Runs `work`, which allocates; if memory lacks, once more after everything that nobody holds is forgotten.
  template <typename Work>
  absl::Status WithRoom(const Work& work);
  void Trim(uint64_t budget_bytes);

  const std::unique_ptr<Kernels> kernels_;
  const ExaminerOptions options_;
  LibraryNoise libraries_;
  std::list<Entry> states_;  // used last first
};

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_EXAMINER_H_
