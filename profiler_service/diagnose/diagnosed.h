// What a diagnosis brings home, and what all diagnoses share.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_DIAGNOSED_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_DIAGNOSED_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sassay/v1/diagnosis.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::diagnose {

// The largest file that is kept for a tenant.
inline constexpr uint64_t kMaxArtifactBytes = 32 << 20;

// A file to keep. `suffix` follows the submission's id in its name: ".ncu-rep".
struct File {
  std::string suffix;
  std::string bytes;
};

struct Diagnosed {
  // All but `kind`, `artifacts` and `wall_ns`.
  sassay::v1::DiagnosisReport report;
  // Where every warp stood, most first.
  std::vector<sassay::v1::WarpState> warps;
  std::vector<File> files;
};

inline Diagnosed Unavailable(absl::string_view reason) {
  Diagnosed diagnosed;
  diagnosed.report.set_outcome(sassay::v1::DiagnosisReport::UNAVAILABLE);
  diagnosed.report.set_reason(std::string(reason));
  return diagnosed;
}

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_DIAGNOSED_H_
