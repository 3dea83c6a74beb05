// Recorded runs as a FlashInfer-Trace data set: definitions, workloads, one solution for each distinct source, and one
// trace for each turn that was judged.
//
//   OUT/definitions/OP/NAME.json                      as this installation has them
//   OUT/workloads/OP/NAME.jsonl
//   OUT/solutions/AUTHOR/OP/DEFINITION/SOLUTION.json   AUTHOR is the model
//   OUT/traces/AUTHOR/OP/DEFINITION.jsonl
//
// The schema knows fewer outcomes than Sassay: CORRECT is PASSED; COMPILE_ERROR, TIMEOUT and INCORRECT_NUMERICAL keep
// their names; everything else that is the candidate's fault is RUNTIME_ERROR, and the trace's log begins with Sassay's
// own status, code and reason. A PASSED trace must carry a time, so a correct turn without one (an emulated device) has
// a solution and no trace, and is counted. What was not measured is NaN, never 0. Excluded turns, INFRA_ERROR and
// CANCELLED are in no trace.
#ifndef SASSAY_AGENT_INTEROP_FLASHINFER_TRACE_EXPORT_H_
#define SASSAY_AGENT_INTEROP_FLASHINFER_TRACE_EXPORT_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/trajectory/trajectory.h"
#include "common/workload/catalog.h"
#include "sassay/v1/interop.pb.h"

namespace sassay::agent {

// The same runs give the same bytes. Failure: FAILED_PRECONDITION for a definition that the catalogue lacks; a run that
// cannot be read; what cannot be written.
absl::StatusOr<v1::TraceExportReport> ExportFlashInferTrace(absl::Span<const Run> runs, const WorkloadCatalog& catalog,
                                                            const std::filesystem::path& output);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_FLASHINFER_TRACE_EXPORT_H_
