// Which instructions of the admitted cubin really executed?
//
// Emulated device: one call in COUNTED mode; the emulator counts executed PTX instructions per opcode, and those are
// mapped to the SASS families that ptxas makes of them (common/sass/families.h). CUDA: UNAVAILABLE until CUPTI counts
// SASS.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/evidence.pb.h"

namespace sassay::evidence {

// The most opcodes that evidence lists, most executed first.
inline constexpr int kMaxOpcodes = 64;

// What evidence saw. Only CollectEvidence makes one.
class ExecutedEvidence {
 public:
  const sassay::v1::Evidence& evidence() const { return evidence_; }
  // Why it could not be collected, where that is our own trouble or a cancellation; evidence is UNAVAILABLE then.
  const absl::optional<verdict::Failure>& failure() const { return failure_; }
  uint64_t device_ns() const { return device_ns_; }

 private:
  friend ExecutedEvidence CollectEvidence(const evaluate::StageContext&, const evaluate::Seeds&, absl::string_view,
                                          absl::string_view);
  sassay::v1::Evidence evidence_;
  absl::optional<verdict::Failure> failure_;
  uint64_t device_ns_ = 0;
};

// `device_kind`: "cuda" or "emulated". `required_family`: the letter that the definition's sassay section requires for
// this architecture ("H", "B"); empty if it requires none.
ExecutedEvidence CollectEvidence(const evaluate::StageContext& context, const evaluate::Seeds& seeds,
                                 absl::string_view device_kind, absl::string_view required_family);

// Pure: turns raw counts of PTX opcodes into evidence. `ptx` and `flop` are the candidate's PTX and the workload's
// operations for one call (0 if unknown).
sassay::v1::Evidence Summarize(const sassay::v1::Evidence& counted, absl::string_view ptx, double flop,
                               absl::string_view required_family);

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_
