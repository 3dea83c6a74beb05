// A client's parts, put together into one job: the first who reads them, and they come from anybody with a token.
#ifndef SASSAY_PROFILER_SERVICE_BUILDER_INCOMING_JOB_H_
#define SASSAY_PROFILER_SERVICE_BUILDER_INCOMING_JOB_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sassay/v1/builder.pb.h"

namespace sassay::builder {

// What one job may hold: as much as mini-ptx-agent reads on a machine of one's own.
struct JobLimits {
  uint64_t files = 256;
  uint64_t source_bytes = 16 << 20;
  uint64_t piece_bytes = 1 << 20;
  int workloads = 64;  // of each kind
  int defines = 256;
  uint64_t text_bytes = 4096;             // of one setting
  uint64_t definition_bytes = 1 << 20;    // of one definition
  uint64_t definitions_bytes = 16 << 20;  // of all
  // What a compilation may ask for: less than a build may take.
  absl::Duration compile_deadline = absl::Minutes(10);
};

// Settings first, once; then files one after the other, each in pieces. Nothing is written to a disk here, and names of
// files never become paths: they stay text in the job. What workloads, definitions and settings mean is checked by who
// builds. Thread-compatible.
class IncomingJob {
 public:
  explicit IncomingJob(JobLimits limits = {}) : limits_(limits) {}

  // INVALID_ARGUMENT names the part; the job is worth nothing then.
  absl::Status Add(sassay::v1::BuildRequest untrusted_part);
  // When all parts are there. INVALID_ARGUMENT if something is missing.
  absl::StatusOr<sassay::v1::BuildJob> Take();

 private:
  absl::Status AddSettings(sassay::v1::BuildSettings untrusted);
  absl::Status AddPiece(const sassay::v1::SourcePiece& untrusted);

  const JobLimits limits_;
  sassay::v1::BuildJob job_;
  std::set<std::string> paths_;
  uint64_t source_bytes_ = 0;
};

// Whether a path is relative, plain (letters, digits, ._-+/) and stays inside. INVALID_ARGUMENT.
absl::Status CheckSourcePath(absl::string_view untrusted);

}  // namespace sassay::builder

#endif  // SASSAY_PROFILER_SERVICE_BUILDER_INCOMING_JOB_H_
