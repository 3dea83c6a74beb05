// Which of several files of one library is taken: the newest that this machine's driver can run.
//
// A file's name does not tell (wheels call every release of cuDNN 9 libcudnn.so.9), so each is asked. Two releases must
// never be in one process, so that a child is started for each, the program vendor-library-version beside ours. What a
// child said is remembered for the life of this process.
#ifndef SASSAY_COMMON_TOOLCHAIN_LIBRARY_VERSIONS_H_
#define SASSAY_COMMON_TOOLCHAIN_LIBRARY_VERSIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/toolchain/library_table.h"

namespace sassay {

// A file and why it comes where it does.
struct RankedLibrary {
  std::string path;
  LibraryVersion version;
  // What keeps it from being taken at all: "does not load: …", "is for CUDA 14.0, the driver runs 13.0". Empty if
  // nothing does.
  std::string unusable;
};

// How a file is asked.
using AskVersion = std::function<absl::StatusOr<LibraryVersion>(VendorLibrary, const std::string& file)>;

// `files` of one library (in the order of the places), best first: those that can be used; among them a later CUDA
// major release, as far as the driver has it; of a library that is bound to the minor release those that the driver
// has; then the newer version; then the better place. `driver_cuda` is "13.0", or empty where there is no driver: then
// nothing is too new. Where a file does not tell its version, it comes after those that do.
std::vector<RankedLibrary> RankLibraries(VendorLibrary library, const std::vector<std::string>& files,
                                         absl::string_view driver_cuda, const AskVersion& ask);

// Asks a child, within 20 s. UNAVAILABLE: why it does not load; NOT_FOUND: there is no program to ask with.
// Thread-safe.
absl::StatusOr<LibraryVersion> AskLibraryVersion(VendorLibrary library, const std::string& file);

// What the driver of this machine runs at most, asked in a child: "13.0"; empty where there is no driver. Thread-safe.
std::string DriverCudaVersion();

// vendor-library-version's whole work: prints what the file says ("9.19.0 13.1"), or with the key "driver" what the
// driver runs. Loads the library into this process. Exit status 0; 1 with a reason on standard error; 2 usage.
int RunVendorLibraryVersion(int argc, char** argv);

// "13.10" is later than "13.9". Parts that are no numbers count as 0.
bool IsLaterVersion(absl::string_view a, absl::string_view b);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_LIBRARY_VERSIONS_H_
