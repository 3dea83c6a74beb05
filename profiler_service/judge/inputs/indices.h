// Contents of index tensors: offsets of sequences, pages of a cache, lengths of last pages. Made on the host, from the
// definition's rules (IndexDefinition in common/workload/definition.h), so that whatever the seed they are valid: a
// candidate that follows them never leaves a tensor.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INDICES_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INDICES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// The bytes of every input that the definition lists in `indices`, by position among the workload's inputs. A pure
// function of definition, axes, seed and distribution.
//
// Lengths of sequences differ by up to some hundred times. For one workload and distribution they are always the same,
// so that every call has the same work and times can be compared; which sequence has which length follows from the
// seed, and so do pages and last pages. Where sequences may be empty, about one in eight is, and of four or more at
// least one. A sequence that covers another's elements sometimes has no more tokens than it must, so that causal masks
// meet their edge.
absl::StatusOr<std::map<int, std::string>> GenerateIndices(const Definition& definition,
                                                           const sassay::v1::Workload& workload, uint64_t seed,
                                                           Distribution distribution);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INDICES_H_
