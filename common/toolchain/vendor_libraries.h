// Finds NVIDIA's libraries and tools when the program runs: nothing of theirs is linked, so that one binary starts on
// every machine and uses what a machine has.
//
// A library is looked for, by its file name, in
//   1. $SASSAY_CUDA_LIBRARY_PATH, folders separated by colons: the operator's word, which decides. A library there that
//      does not load is an error, not passed over;
//   2. $LD_LIBRARY_PATH and the system's folders;
//   3. CUDA toolkits (places.h): lib64, lib, targets/x86_64-linux/lib, extras/CUPTI/lib64;
//   4. Python packages (places.h): nvidia/*/lib, which is where NVIDIA's wheels put them;
//   5. where nothing lies there: whatever the dynamic linker finds by the plain name.
// Of several the newest that the driver runs is taken (library_versions.h), of NVML the first; it stays loaded for the
// life of the process. Parts of a library come from its own folder, whatever the linker would have found.
//
// Tools: $SASSAY_CUDA_HOME decides; else the newest of toolkits, wheels and PATH that is not of a later CUDA than the
// driver's.
#ifndef SASSAY_COMMON_TOOLCHAIN_VENDOR_LIBRARIES_H_
#define SASSAY_COMMON_TOOLCHAIN_VENDOR_LIBRARIES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "common/toolchain/library_table.h"

namespace sassay {

// "cuBLASLt", "cuDNN", "CUPTI", "NVML", "NVRTC", "CUDA runtime".
absl::string_view VendorLibraryName(VendorLibrary library);

// Where to look; FromEnvironment in production.
struct VendorSearch {
  std::vector<std::string> explicit_folders;
  std::vector<std::string> linker_folders;
  // Also ask the dynamic linker for the plain name.
  bool ask_linker = true;
  // A root; its tools are taken where it has them. Empty for none.
  std::string explicit_toolkit{};
  std::vector<std::string> toolkits;       // roots
  std::vector<std::string> site_packages;  // folders that may hold nvidia/*/lib

  // What the driver runs at most: "13.0", or empty where there is no driver. Absent: it is asked when that matters.
  absl::optional<std::string> driver_cuda{};

  static VendorSearch FromEnvironment();
};

// Files of `library` that exist, best first, without loading any into this process. The first time that there is a
// choice it costs a child for each, a tenth of a second.
std::vector<std::string> LocateVendorLibrary(VendorLibrary library,
                                             const VendorSearch& search = VendorSearch::FromEnvironment());

// A library in this process.
struct LoadedLibrary {
  // From dlopen; never closed.
  void* handle = nullptr;
  // The file, free of symbolic links.
  std::string path;
  // As the library tells it ("9.19.0"); of NVML, which tells nothing before it talks to the driver, as its file is
  // named.
  std::string version;

  // A function of the library; UNAVAILABLE naming library, version and symbol if it has none. Function is the pointer's
  // type.
  template <typename Function>
  absl::StatusOr<Function> Symbol(const char* name) const {
    void* symbol = Find(name);
    if (symbol == nullptr) return Lacks(name);
    return reinterpret_cast<Function>(symbol);
  }
  // The same into a pointer that is there already: for tables of functions.
  template <typename Function>
  absl::Status Resolve(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(Find(name));
    return function == nullptr ? Lacks(name) : absl::OkStatus();
  }

 private:
  void* Find(const char* name) const;
  absl::Status Lacks(const char* name) const;
};

// Loads `library`, and before it those that it will ask the linker for. UNAVAILABLE says what is missing or what did
// not load, where it was looked for, and what mends it. Thread-safe.
absl::StatusOr<LoadedLibrary> LoadVendorLibrary(VendorLibrary library,
                                                const VendorSearch& search = VendorSearch::FromEnvironment());

// A program: in a toolkit's bin, beside a toolkit (Nsight Compute), in NVIDIA's wheels, in PATH. Of several the one
// that says the latest version. NOT_FOUND says what mends it.
absl::StatusOr<std::string> FindVendorTool(absl::string_view name,
                                           const VendorSearch& search = VendorSearch::FromEnvironment());

// One line of `profiler-service --check`.
struct VendorFinding {
  std::string name;     // "cuBLASLt", "compute-sanitizer"
  std::string purpose;  // what is not possible without it
  std::string path;     // empty if it is not there
  std::string version;  // empty if it does not tell
  std::string missing;  // why there is none and what mends it; empty if it is there
  // Further files of a library and why they were passed over: "/opt/…/libcudnn.so.9 (9.14.0, for CUDA 13.0)".
  std::vector<std::string> others{};
};

// cuBLASLt, cuDNN, CUPTI, NVML, and the tools compute-sanitizer, nvdisasm, ncu, cuda-gdb. Loads the libraries and
// starts the tools for their versions: a second or two.
std::vector<VendorFinding> FindVendorLibraries(const VendorSearch& search = VendorSearch::FromEnvironment());

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_VENDOR_LIBRARIES_H_
