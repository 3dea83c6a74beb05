// The agent is one file, and starts programs: the two of capture, which run beside a candidate and must hold little,
// and bubblewrap, which hosts may lack. They travel inside the agent and are unpacked where it runs.
#ifndef SASSAY_AGENT_CARRIED_CARRIED_H_
#define SASSAY_AGENT_CARRIED_CARRIED_H_

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// One carried file: where it lies below the unpacked folder, and its bytes.
struct CarriedFile {
  const char* path;
  absl::string_view bytes;
};

const std::vector<CarriedFile>& CarriedFiles();

// The folder with the unpacked files: bin/, lib/sassay-capture/, lib/ and libexec/, readable by all.
//
// That is a folder of `cache` named after what it holds, so that several versions and several agents at once share it;
// it is compared with what we carry each time, and written anew (whole or not at all) where it differs. It is in a
// temporary folder, which goes with this process, where `cache` is empty, cannot be written, does not let programs run
// (noexec), or belongs to somebody else. FAILED_PRECONDITION where that place is none either; the message names both.
// Takes some milliseconds: to be asked once. Thread-compatible.
absl::StatusOr<std::filesystem::path> UnpackCarried(const std::filesystem::path& cache);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CARRIED_CARRIED_H_
