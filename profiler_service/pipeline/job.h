// The seam between the queue, which owns a submission's life, and the pipeline, which judges it.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_JOB_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sassay/v1/profiler.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay {

// One attempt at one submission.
struct Job {
  std::string submission_id;
  std::string tenant;
  sassay::v1::ProfileRequest request;
  std::string bundle_bytes;  // hostile until admission has validated them; the store has checked their SHA-256
  uint32_t attempt = 1;
  absl::Time deadline;  // of the run
  // Devices on which earlier attempts ended in trouble, as StageStarted called them: tried last, and alone.
  std::vector<std::string> earlier_devices{};
  // Keeps a file that belongs to the verdict where the tenant can read it, and answers its SHA-256 (lower-case hex).
  // RESOURCE_EXHAUSTED names the limit. Empty where nothing can be kept.
  std::function<absl::StatusOr<std::string>(absl::string_view bytes)> keep_artifact{};
};

// How the pipeline speaks while it works. Calls come from the thread that runs the job; `cancelled` may be polled from
// any.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // The job has got its place on a GPU (its id in Control.ListGpus), which it keeps until it ends. Once at most.
  virtual void SeatTaken(absl::string_view gpu) = 0;
  // No GPU that takes the job has been open for a while: it gives up, and nothing about that counts against it.
  // `cancelled` is true from now on, where somebody can run it later.
  virtual void FoundNoOpenGpu(absl::string_view why) {}
  virtual void StageStarted(sassay::v1::Stage stage, absl::string_view device) = 0;
  virtual void StageFinished(const sassay::v1::StageReport& report) = 0;
  // Somebody asked to stop, or the lease was lost: give up at once.
  virtual bool cancelled() const = 0;
};

// Judges jobs. Thread-safe: the dispatcher runs as many at once as `concurrency` says.
class JobRunner {
 public:
  virtual ~JobRunner() = default;
  // Never fails: our own trouble is a verdict with status INFRA_ERROR. submission_id, attempt and decided_at are filled
  // in.
  virtual sassay::v1::Verdict Run(const Job& job, JobObserver& observer) = 0;
  virtual uint32_t concurrency() const = 0;
};

}  // namespace sassay

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_JOB_H_
