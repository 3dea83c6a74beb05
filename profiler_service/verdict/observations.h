// What the stages saw, as plain data: the whole input of the verdict. Stages fill these in; Decide reads them; nothing
// else has a say.
#ifndef SASSAY_PROFILER_SERVICE_VERDICT_OBSERVATIONS_H_
#define SASSAY_PROFILER_SERVICE_VERDICT_OBSERVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "sassay/v1/evidence.pb.h"
#include "sassay/v1/timing.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::verdict {

// What ended a stage early: the candidate's fault or ours, which the code tells (IsInfrastructure).
struct Failure {
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_UNSPECIFIED;
  // One line that helps to repair the kernel.
  std::string reason;
  // First cause first.
  std::vector<sassay::v1::Finding> findings;
  // Where the warps stood, after a timeout.
  std::vector<sassay::v1::WarpState> warps;
};

// Is it right?
struct EvaluateSeen {
  absl::optional<Failure> failure;
  // Of the worst case; absent if no output was compared.
  absl::optional<sassay::v1::Numerics> numerics;
  std::string device_output;
  // Reproduces the seeds.
  std::string replay_id;
  // The outputs were wrong in the same way when the call was made again, with the same inputs and other bytes in
  // outputs, workspaces and guard bands: they are a function of the inputs, and no stray read that lands there is
  // needed to explain them. False as well where nobody asked.
  bool wrong_by_itself = false;
  // What single launches are good for, of a candidate that passed; absent where nobody looked.
  absl::optional<sassay::v1::DroppedLaunches> dropped_launches;
};

// Is it safe?
struct SanitizeSeen {
  // It ran as a diagnosis after evaluate had failed, not because all was well so far.
  bool diagnostic = false;
  // Findings that may convict on this device: all of the emulator's, memcheck's global-memory findings on CUDA.
  std::vector<sassay::v1::Finding> convicting;
  // Findings that only advise.
  std::vector<sassay::v1::Finding> advisory;
  // Why the tool that decides (memcheck, the emulator) is not content, though it convicts of nothing; empty if it is
  // content. Not clean, not guilty.
  std::string unavailable;
  // Every tool that was asked, in order.
  std::vector<sassay::v1::SanitizerReport> reports;
  // It is unavailable because a worker of ours was lost, again and again: another attempt may see what this one did
  // not, so that this one ends without a verdict on a candidate that evaluate did not convict.
  absl::optional<Failure> lost;
  std::string device_output;
};

// How fast?
struct TimingSeen {
  sassay::v1::Timing timing;
  // TIMED_OUTPUT_WRONG, or a fault or hang while it was timed that happened again.
  absl::optional<Failure> failure;
};

// What was asked for besides. Never changes what became of the candidate.
struct DiagnoseSeen {
  std::vector<sassay::v1::DiagnosisReport> reports;
  // Where every warp stood, out of a core dump.
  std::vector<sassay::v1::WarpState> warps;
};

// Everything.
struct Observations {
  // Somebody asked to stop, or the lease was lost.
  bool cancelled = false;
  // The attempt's workers were taken away while it ran, so that what it saw after that says nothing: INFRA, unless the
  // candidate had been refused before.
  absl::optional<Failure> lost;
  // Admission's refusal, or what stopped the run before any stage (DIGEST_BARRED, TOO_LARGE_FOR_DEVICE).
  absl::optional<Failure> refused;
  absl::optional<EvaluateSeen> evaluate;
  absl::optional<SanitizeSeen> sanitize;
  absl::optional<sassay::v1::Evidence> evidence;
  absl::optional<TimingSeen> timing;
  DiagnoseSeen diagnose;

  sassay::v1::Provenance provenance = sassay::v1::PROVENANCE_CLAIMED;
  sassay::v1::CaptureProfile capture_profile = sassay::v1::CAPTURE_PROFILE_UNSPECIFIED;
  // Set by the monitor.
  absl::optional<sassay::v1::Exclusion> excluded;
  // Seeds were chosen by the client's replay id, so it may know the inputs.
  bool replayed = false;
  // Timed against itself (A/A): the ratio says nothing about the candidate.
  bool against_itself = false;

  // Notes of the stages and warnings of capture, for people.
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  // One per stage, in order.
  std::vector<sassay::v1::StageReport> stages;

  std::string workload;
  std::string definition_sha256;  // hex
  std::string bundle_sha256;      // hex
  sassay::v1::Versions versions;  // all but `rules` and `sassay`
};

}  // namespace sassay::verdict

#endif  // SASSAY_PROFILER_SERVICE_VERDICT_OBSERVATIONS_H_
