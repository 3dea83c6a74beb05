// Turns the raw counts of a runner into counts of instructions of the admitted cubin, or says why they cannot be true.
//
// The counts come from a process whose GPU context ran the candidate's code, and the counters themselves lay in that
// context's memory: a hostile kernel that finds them can change them. So nothing is taken as it comes. What is checked:
// the cubin that was counted is the admitted one; every launch of the plan is there, once, under its own kernel's name;
// every count belongs to an instruction of the admitted cubin's own disassembly; every kernel was entered by exactly as
// many warps and threads as were launched; threads and warps agree with each other; all together is no more than the
// GPU can issue in the time that passed. docs/trust_model.md says what that leaves open.
#ifndef SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_JOIN_H_
#define SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_JOIN_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/bundle/cubin.h"
#include "common/sass/disassembly.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::evidence {

// An instruction that executed; points into the disassembly.
struct ExecutedInstruction {
  const SassInstruction* what = nullptr;
  uint64_t warps = 0;
  uint64_t threads = 0;  // predicate true
};

// What one launch executed, or `launches` launches of one kernel from the first one on.
struct ExecutedLaunch {
  uint32_t first_launch = 0;  // position among the launches of the call
  uint32_t launches = 0;
  std::string kernel;
  std::vector<ExecutedInstruction> instructions;
};

// The counts and all that they are held against. Everything must outlive the call.
struct CountedCall {
  const sassay::worker::SassCounts& untrusted_counts;
  // The cubin's CRC as the runner told it before any code of the candidate had run.
  uint64_t cubin_crc = 0;
  const sassay::v1::LaunchPlan& plan;
  const Disassembly& code;
  // Of kernels whose grid counts clusters: how many blocks one of them has.
  std::map<std::string, uint64_t> blocks_per_cluster;
  // More the GPU cannot have issued, seen from outside.
  double most_warp_instructions = 0;
};

// DATA_LOSS says what does not fit; the answer outlives all but the disassembly.
absl::StatusOr<std::vector<ExecutedLaunch>> JoinCounts(const CountedCall& call);

// CountedCall::blocks_per_cluster of a cubin; most have none such.
std::map<std::string, uint64_t> BlocksPerCluster(const Cubin& cubin);

// Warp-instructions that a GPU of so many multiprocessors can issue in that time at most: four a cycle on each, at a
// clock that no GPU reaches.
double MostWarpInstructions(uint32_t multiprocessors, double seconds);

}  // namespace sassay::evidence

#endif  // SASSAY_PROFILER_SERVICE_EVIDENCE_SASS_JOIN_H_
