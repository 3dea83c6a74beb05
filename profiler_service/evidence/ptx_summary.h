// What an emulated device's counts say: it runs PTX, whose opcodes are mapped to the SASS families that ptxas makes of
// them.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_PTX_SUMMARY_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_PTX_SUMMARY_H_

#include "absl/strings/string_view.h"
#include "sassay/v1/evidence.pb.h"

namespace sassay::evidence {

// Pure. `ptx` and `flop` are the candidate's PTX and the workload's operations for one call (0 if unknown).
// `required_family` as in SummarizeSass.
sassay::v1::Evidence SummarizePtx(const sassay::v1::Evidence& counted, absl::string_view ptx, double flop,
                                  absl::string_view required_family);

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_PTX_SUMMARY_H_
