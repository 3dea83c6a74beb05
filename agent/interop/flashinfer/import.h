// Other people's FlashInfer-Trace data sets, made usable here.
//
// A data set has definitions/OP/NAME.json, workloads/OP/NAME.jsonl, tensors in safetensors files, and solutions. Sassay
// reads such definitions as they are; what they lack is who says what is right, since their reference is Python, which
// Sassay never runs. So an import says of each definition how it can be judged:
//   * one that ships here under the same name, axes and tensors is judged by what ships;
//   * a workload whose inputs and outputs are all stored becomes a definition with golden tensors;
//   * any other is kept, and needs a reference (docs/workloads.md); until then it is REJECTED with NO_REFERENCE.
#ifndef SASSAY_AGENT_INTEROP_FLASHINFER_IMPORT_H_
#define SASSAY_AGENT_INTEROP_FLASHINFER_IMPORT_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sassay/v1/interop.pb.h"

namespace sassay::agent {

// Reads the data set at `root` and writes definitions and golden tensors below `output`, a folder for --definitions and
// the service's --workloads. What cannot be used is in the report with its reason, and stops nothing. Every path that a
// file names is held inside the data set. Failure: NOT_FOUND if there is no data set; what cannot be written.
absl::StatusOr<v1::ImportReport> ImportFlashInferTrace(const std::filesystem::path& root,
                                                       const std::filesystem::path& output);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_FLASHINFER_IMPORT_H_
