// The pipeline: the life of a candidate inside the service, from hostile bytes to a verdict.
//
//   admission -> evaluate -> sanitize -> evidence -> timing -> verdict
//
// Read pipeline.cc to know the product.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_PIPELINE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_PIPELINE_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/workload/catalog.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/admission/provenance.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evidence/evidence.h"
#include "profiler_service/pipeline/barred_digests.h"
#include "profiler_service/pipeline/estimate.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/pipeline/lanes/lane.h"
#include "profiler_service/pipeline/lanes/lanes.h"
#include "profiler_service/telemetry/hub.h"
#include "profiler_service/timing/baseline_history.h"
#include "profiler_service/timing/measurement.h"

namespace sassay::pipeline {

// What a pipeline is made of.
struct PipelineParts {
  explicit PipelineParts(evaluate::SeedPool seed_pool) : seeds(std::move(seed_pool)) {}

  // At least one. Every job runs on one of them; Pipeline takes them over.
  std::vector<std::unique_ptr<Lane>> lanes;
  // Outlives the pipeline.
  const WorkloadCatalog* catalog = nullptr;
  // Whether the PTX gives the cubin: ProvenanceChecker::Check; the deadline is of SteadyNow.
  std::function<admission::ProvenanceResult(const admission::AdmittedBundle&, absl::Time deadline, const StopAsked&)>
      provenance;
  // A kernel of the bundle that is a vendor library's: VendorKernels::Find.
  std::function<absl::optional<admission::Rejection>(const sassay::v1::Bundle&)> vendor_kernel =
      [](const sassay::v1::Bundle&) { return absl::nullopt; };
  // Reads the machine code of a cubin, for evidence on a GPU.
  evidence::Disassembler disassemble = [](absl::string_view, absl::Duration) -> absl::StatusOr<Disassembly> {
    return absl::NotFoundError("there is no disassembler");
  };
  // The bytes of a bundle that an operator approved as a reference, by SHA-256; NOT_FOUND otherwise.
  std::function<absl::StatusOr<std::string>(absl::string_view sha256)> trusted_bundle;
  evaluate::SeedPool seeds;
  admission::Limits limits;
  std::string driver_cuda = {};  // the newest CUDA that this host's driver runs; empty where it is not known
  std::filesystem::path barred_digests_file;
  std::filesystem::path baseline_history_file;
  EmulatorSpeed emulator_speed;
  // Of one request to a GPU; on an emulated device four times the estimate, between 20 s and 5 min.
  absl::Duration device_deadline = absl::Seconds(10);
  // Of the samples of one timing (timing::Rules::budget).
  absl::Duration timing_budget = timing::Rules().budget;
  // How long launches may be left out of a candidate's calls, one at a time, to see what depends on them: a call of a
  // GEMM with its comparison takes 5 ms on a GPU, one of attention backward 30.
  absl::Duration leaving_out = absl::Milliseconds(100);
  // No stage shares its device (--exclusive).
  bool exclusive = false;
  // How often a lane on which no runner comes up is tried again.
  absl::Duration probe_every = absl::Seconds(30);
  // How long an attempt waits for a device while all that take it are closed.
  absl::Duration closed_patience = Lanes::kClosedPatience;
  // How long an attempt waits for each device on which earlier ones ended in trouble: trouble that passes needs a
  // moment.
  absl::Duration retry_pause = absl::Seconds(1);
  // What a submission is given that asks for nothing. An emulated run that takes longer is too large; one that only
  // takes longer than this submission has left is not.
  absl::Duration usual_run_deadline = absl::Minutes(10);
  // Of the sanitizer, where the submission does not say.
  sassay::v1::SanitizePolicy default_sanitize = sassay::v1::SANITIZE_POLICY_FAST;
  // Who watches; outlives the pipeline. Null: nobody is told.
  telemetry::Hub* telemetry = nullptr;
};

// Thread-safe: Run may be called by `concurrency()` threads at once.
class Pipeline : public JobRunner {
 public:
  explicit Pipeline(PipelineParts parts)
      : lanes_(std::move(parts.lanes), parts.probe_every, parts.closed_patience),
        parts_(std::move(parts)),
        barred_(parts_.barred_digests_file),
        baseline_history_(parts_.baseline_history_file) {}

  sassay::v1::Verdict Run(const Job& job, JobObserver& observer) override;
  uint32_t concurrency() const override { return lanes_.seats(); }

  const PipelineParts& parts() const { return parts_; }
  Lanes& lanes() { return lanes_; }
  BarredDigests& barred() { return barred_; }
  timing::BaselineHistory& baseline_history() { return baseline_history_; }

 private:
  Lanes lanes_;
  const PipelineParts parts_;
  BarredDigests barred_;
  timing::BaselineHistory baseline_history_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_PIPELINE_H_
