// NVIDIA's libraries as we look for them: names, versions, and what each needs. Data, for vendor_libraries.h and
// library_versions.h alone.
#ifndef SASSAY_COMMON_TOOLCHAIN_LIBRARY_TABLE_H_
#define SASSAY_COMMON_TOOLCHAIN_LIBRARY_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sassay {

enum class VendorLibrary { kCublasLt, kCudnn, kCupti, kNvml, kNvrtc, kCudart };

// What a library says about itself.
struct LibraryVersion {
  // "9.19.0"
  std::string version;
  // The CUDA release it was made for: "13.1"; empty where it does not tell.
  std::string cuda;
};

struct LibraryDescription {
  VendorLibrary library;
  // As it is asked for at the command line of vendor-library-version: "cudnn".
  const char* key;
  // "cuDNN"
  const char* name;
  // What is not possible without it.
  const char* purpose;
  // Best first. A number in a soname is an ABI.
  std::vector<std::string> sonames;
  const char* mend;
  const char* version_symbol;
  std::string (*version)(void*);
  // Tells the CUDA release as 13010. Null: `cuda_of_version` does.
  const char* cuda_symbol;
  // Whether the library's own version is that of CUDA.
  bool cuda_of_version;
  // Whether a release of CUDA later than the driver's is worse than an earlier one. Others run on any driver of their
  // major release (minor-version compatibility).
  bool bound_to_minor;
  // Whether the newest is taken. NVML belongs to the driver: the place decides.
  bool newest;
  // Parts of the library, patterns of file names in its own folder, in the order of their dependence. It would ask the
  // linker for them by plain name, and could get another version's.
  std::vector<std::string> parts;
  // Asked for by plain name once the library works.
  std::vector<VendorLibrary> needs;
};

const std::vector<LibraryDescription>& LibraryDescriptions();
const LibraryDescription& DescribeLibrary(VendorLibrary library);
// By key; null if there is none.
const LibraryDescription* FindLibraryByKey(absl::string_view key);

// 13010 -> "13.1".
std::string CudaRelease(int number);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_LIBRARY_TABLE_H_
