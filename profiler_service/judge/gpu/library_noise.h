// How far a vendor library's own answer is from the exact one, on the same inputs: the measure of what may be asked of
// a candidate.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_LIBRARY_NOISE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_LIBRARY_NOISE_H_

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "profiler_service/judge/gpu/reference.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// Keeps the libraries' prepared calls of the workloads used last (a call takes up to a second to prepare), and what was
// measured: a comparison that is made again must end the same, also where the library's sums depend on the order in
// which blocks end. Thread-compatible, as the kernels. The device must outlive it.
class LibraryNoise {
 public:
  using MakeLibrary =
      std::function<absl::StatusOr<std::unique_ptr<Baseline>>(const sassay::v1::Workload&, device::Device&)>;

  struct Measured {
    std::string library;             // "cuDNN 9.19.0"; empty where none ran
    std::string unavailable;         // why none ran, where the workload names one
    std::vector<double> ratios;      // one per output, as NoiseRatio gives it; none where no library ran
    bool may_end_otherwise = false;  // why none ran may be over the next time
  };

  // Prepared calls that are kept; each may hold a workspace.
  static constexpr size_t kKeptLibraries = 3;

  explicit LibraryNoise(MakeLibrary make) : make_(std::move(make)) {}

  // Runs the workload's library on `inputs` and compares. `key` names workload, seed and distribution. A library that
  // is missing or fails is in the answer, which is kept only if it will never be otherwise (NOT_FOUND, UNIMPLEMENTED,
  // INVALID_ARGUMENT): without the library a candidate is held to more. A Status is the device's trouble,
  // RESOURCE_EXHAUSTED if memory lacks, also for the library's own.
  absl::StatusOr<Measured> Measure(Kernels& kernels, const sassay::v1::Workload& workload, const std::string& key,
                                   absl::Span<const device::DeviceAddress> inputs,
                                   const std::vector<ExpectedOutput>& expected);

 private:
  struct Library {
    std::string key;
    absl::StatusOr<std::unique_ptr<Baseline>> call;  // a failure is one that stays
  };

  absl::StatusOr<Measured> Run(Kernels& kernels, const sassay::v1::Workload& workload,
                               absl::Span<const device::DeviceAddress> inputs,
                               const std::vector<ExpectedOutput>& expected);
  absl::StatusOr<Baseline*> LibraryOf(Kernels& kernels, const sassay::v1::Workload& workload);

  const MakeLibrary make_;
  std::list<Library> libraries_;  // used last first
  std::map<std::string, Measured> measured_;
};

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_LIBRARY_NOISE_H_
