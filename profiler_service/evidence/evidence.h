// Which instructions of the admitted cubin really executed?
//
// One call in COUNTED mode, in a runner of its own and never together with timing. CUDA: CUPTI's SASS metrics count
// every instruction of every launch; the counts are joined with the disassembly of the admitted cubin (sass_join.h) and
// summed up (sass_summary.h). Emulated device: the emulator counts executed PTX instructions per opcode
// (ptx_summary.h).
//
// What cannot be counted, or cannot be true, is UNAVAILABLE with the reason; it is never held against the candidate.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/sass/disassembly.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/session.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/evidence/sass_summary.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/evidence.pb.h"

namespace sassay::evidence {

// How a cubin becomes a disassembly within the time: Disassemble with this machine's nvdisasm.
using Disassembler = std::function<absl::StatusOr<Disassembly>(absl::string_view untrusted_cubin, absl::Duration)>;

// What is counted, and how.
struct EvidenceRequest {
  // The judge's description: kind, and how many multiprocessors can issue instructions.
  const sassay::worker::DeviceDescription& device;
  // The letter that the definition's sassay section requires for this architecture ("H", "B"); empty if it requires
  // none.
  std::string required_family;
  // Not used on an emulated device.
  Disassembler disassemble;
  // Of the inputs: evaluate's first case.
  std::string distribution = "normal";
};

// What evidence saw. Only CollectEvidence makes one.
class ExecutedEvidence {
 public:
  // The most instructions that hot() lists.
  static constexpr size_t kMaxHot = 256;

  const sassay::v1::Evidence& evidence() const { return evidence_; }
  // Hottest first; empty where nothing was counted, and on an emulated device.
  const std::vector<HotInstruction>& hot() const { return hot_; }
  // Why it could not be collected, where that is our own trouble or a cancellation; evidence is UNAVAILABLE then.
  const absl::optional<verdict::Failure>& failure() const { return failure_; }
  uint64_t device_ns() const { return device_ns_; }

 private:
  friend ExecutedEvidence CollectEvidence(const evaluate::StageContext&, const evaluate::Seeds&,
                                          const EvidenceRequest&);
  sassay::v1::Evidence evidence_;
  std::vector<HotInstruction> hot_;
  absl::optional<verdict::Failure> failure_;
  uint64_t device_ns_ = 0;
};

ExecutedEvidence CollectEvidence(const evaluate::StageContext& context, const evaluate::Seeds& seeds,
                                 const EvidenceRequest& request);

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_EVIDENCE_H_
