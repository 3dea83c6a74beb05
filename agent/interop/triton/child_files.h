// The Python that runs beside a Triton candidate, carried in this program.
#ifndef SASSAY_AGENT_INTEROP_TRITON_CHILD_FILES_H_
#define SASSAY_AGENT_INTEROP_TRITON_CHILD_FILES_H_

#include <filesystem>

#include "absl/status/status.h"

namespace sassay::agent {

// The file to run.
inline constexpr char kTritonChild[] = "sassay_triton_child.py";

// Writes all of them below `folder`, readable by everybody.
absl::Status WriteTritonChild(const std::filesystem::path& folder);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_CHILD_FILES_H_
