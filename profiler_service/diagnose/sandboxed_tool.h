// Runs NVIDIA's readers over files that hostile processes had a hand in.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_SANDBOXED_TOOL_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_SANDBOXED_TOOL_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/sandbox/sandbox.h"

namespace sassay::diagnose {

// What a reader may print; the rest is dropped.
inline constexpr uint64_t kMaxReaderBytes = 8 << 20;

// Standard output of `argv` (argv[0] is the program's path on the host), run in a sandbox that sees the system, the
// program's own installation and `folder`, read-only under their own paths, and no device. What a program printed
// before it failed or was late still counts; UNAVAILABLE with its last words if that is nothing.
absl::StatusOr<std::string> RunSandboxed(const std::vector<std::string>& argv, const std::filesystem::path& folder,
                                         absl::Duration timeout, const absl::optional<AllowUnsandboxed>& unsandboxed);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_SANDBOXED_TOOL_H_
