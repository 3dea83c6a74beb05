#include "common/toolchain/vendor_libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/places.h"
#include "common/toolchain/toolchain.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

std::string Dotted(uint64_t number, uint64_t major, uint64_t minor, uint64_t patch) {
  return absl::StrCat(number / major, ".", number % major / minor, ".", number % minor / patch);
}

std::string CublasLtVersion(void* function) {
  return Dotted(reinterpret_cast<size_t (*)()>(function)(), 10000, 100, 1);
}

std::string CudnnVersion(void* function) { return Dotted(reinterpret_cast<size_t (*)()>(function)(), 10000, 100, 1); }

std::string CuptiVersion(void* function) {
  uint32_t version = 0;
  reinterpret_cast<int (*)(uint32_t*)>(function)(&version);
  return Dotted(version, 10000, 100, 1);
}

std::string NvrtcVersion(void* function) {
  int major = 0, minor = 0;
  reinterpret_cast<int (*)(int*, int*)>(function)(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

std::string CudartVersion(void* function) {
  int version = 0;
  reinterpret_cast<int (*)(int*)>(function)(&version);
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

struct Description {
  VendorLibrary library;
  const char* name;
  const char* purpose;
  // Best first. A number in a soname is an ABI.
  std::vector<std::string> sonames;
  const char* mend;
  const char* version_symbol;
  std::string (*version)(void*);
  // Asked for by plain name once the library works.
  std::vector<VendorLibrary> needs;
};

const std::vector<Description>& Descriptions() {
  static const auto* const descriptions = new std::vector<Description>{
      {VendorLibrary::kCublasLt,
       "cuBLASLt",
       "GEMM baselines",
       {"libcublasLt.so.13", "libcublasLt.so.12"},
       "pip install nvidia-cublas",
       "cublasLtGetVersion",
       CublasLtVersion,
       {}},
      {VendorLibrary::kCudnn,
       "cuDNN",
       "attention baselines",
       {"libcudnn.so.9"},
       "pip install nvidia-cudnn-cu13",
       "cudnnGetVersion",
       CudnnVersion,
       {VendorLibrary::kNvrtc, VendorLibrary::kCublasLt, VendorLibrary::kCudart}},
      {VendorLibrary::kCupti,
       "CUPTI",
       "evidence of executed instructions",
       {"libcupti.so.13"},
       "pip install nvidia-cuda-cupti",
       "cuptiGetVersion",
       CuptiVersion,
       {}},
      {VendorLibrary::kNvml,
       "NVML",
       "clocks and throttle reasons, which every timing needs",
       {"libnvidia-ml.so.1"},
       "it comes with the NVIDIA driver",
       nullptr,
       nullptr,
       {}},
      {VendorLibrary::kNvrtc,
       "NVRTC",
       "cuDNN's engines that compile at run time",
       {"libnvrtc.so.13", "libnvrtc.so.12"},
       "pip install nvidia-cuda-nvrtc",
       "nvrtcVersion",
       NvrtcVersion,
       {}},
      {VendorLibrary::kCudart,
       "CUDA runtime",
       "cuDNN's frontend",
       {"libcudart.so.13", "libcudart.so.12"},
       "pip install nvidia-cuda-runtime",
       "cudaRuntimeGetVersion",
       CudartVersion,
       {}},
  };
  return *descriptions;
}

const Description& Describe(VendorLibrary library) {
  for (const Description& description : Descriptions()) {
    if (description.library == library) return description;
  }
  return Descriptions().front();
}

struct Tool {
  const char* name;
  const char* purpose;
  const char* mend;
};

constexpr Tool kTools[] = {
    {"compute-sanitizer", "the sanitize stage", "install the CUDA toolkit, or pip install nvidia-cuda-sanitizer-api"},
    {"nvdisasm", "evidence of executed instructions", "install the CUDA toolkit, or pip install nvidia-cuda-nvdisasm"},
    {"ncu", "diagnosis with Nsight Compute",
     "install Nsight Compute (apt install nsight-compute, or the CUDA toolkit)"},
    {"cuda-gdb", "where the warps of a fault or hang stood", "install the CUDA toolkit (apt install cuda-gdb-13-0)"},
};

std::vector<std::string> FoldersOf(const VendorSearch& search) {
  std::vector<std::string> folders = search.explicit_folders;
  folders.insert(folders.end(), search.linker_folders.begin(), search.linker_folders.end());
  for (const std::string& root : search.toolkits) {
    for (const char* below : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) {
      folders.push_back(absl::StrCat(root, "/", below));
    }
  }
  for (const std::string& packages : search.site_packages) {
    for (std::string& folder : GlobPaths(packages + "/nvidia/*/lib")) folders.push_back(std::move(folder));
  }
  return folders;
}

std::string Real(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

std::string PathOf(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  const bool told = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0';
  return Real(told ? map->l_name : asked);
}

// "/usr/lib/libnvidia-ml.so.580.159.03" -> "580.159.03".
std::string VersionInName(const std::string& path) {
  const size_t at = path.rfind(".so.");
  return at == std::string::npos ? "" : path.substr(at + 4);
}

LoadedLibrary Opened(const Description& description, void* handle, const std::string& asked) {
  LoadedLibrary loaded;
  loaded.handle = handle;
  loaded.path = PathOf(handle, asked);
  void* function = description.version_symbol == nullptr ? nullptr : dlsym(handle, description.version_symbol);
  loaded.version = function == nullptr ? VersionInName(loaded.path) : description.version(function);
  return loaded;
}

bool IsIn(const std::string& file, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (fs::path(file).parent_path() == fs::path(folder)) return true;
  }
  return false;
}

// What a deep search would try: the files, then the plain names.
std::vector<std::string> Attempts(const Description& description, const VendorSearch& search) {
  std::vector<std::string> attempts = LocateVendorLibrary(description.library, search);
  if (search.ask_linker) attempts.insert(attempts.end(), description.sonames.begin(), description.sonames.end());
  return attempts;
}

absl::Status NotLoaded(const Description& description, const std::vector<std::string>& troubles) {
  const std::string why = troubles.empty() ? "is in none of the usual folders" : absl::StrJoin(troubles, "; ");
  return absl::UnavailableError(absl::StrCat(description.name, " (", description.sonames.front(), ") ", why, ". Mend: ",
                                             description.mend, ", or set SASSAY_CUDA_LIBRARY_PATH to its folder"));
}

VendorFinding Finding(const Description& description, const VendorSearch& search) {
  VendorFinding finding;
  finding.name = description.name;
  finding.purpose = description.purpose;
  const auto loaded = LoadVendorLibrary(description.library, search);
  if (!loaded.ok()) {
    finding.missing = std::string(loaded.status().message());
    return finding;
  }
  finding.path = loaded->path;
  finding.version = loaded->version;
  std::set<std::string> passed_over;
  for (const std::string& file : LocateVendorLibrary(description.library, search)) passed_over.insert(Real(file));
  passed_over.erase(loaded->path);
  finding.others.assign(passed_over.begin(), passed_over.end());
  return finding;
}

VendorFinding Finding(const Tool& tool, const VendorSearch& search) {
  VendorFinding finding;
  finding.name = tool.name;
  finding.purpose = tool.purpose;
  const auto path = FindVendorTool(tool.name, search);
  if (!path.ok()) {
    finding.missing = std::string(path.status().message());
    return finding;
  }
  finding.path = *path;
  finding.version = ToolVersion(*path).value_or("");
  return finding;
}

std::string MendOf(absl::string_view tool) {
  for (const Tool& known : kTools) {
    if (known.name == tool) return known.mend;
  }
  return "install the CUDA toolkit";
}

}  // namespace

absl::string_view VendorLibraryName(VendorLibrary library) { return Describe(library).name; }

VendorSearch VendorSearch::FromEnvironment() {
  VendorSearch search;
  search.explicit_folders = absl::StrSplit(EnvironmentValue("SASSAY_CUDA_LIBRARY_PATH"), ':', absl::SkipEmpty());
  search.linker_folders = absl::StrSplit(EnvironmentValue("LD_LIBRARY_PATH"), ':', absl::SkipEmpty());
  for (const char* folder : {"/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
    search.linker_folders.push_back(folder);
  }
  search.toolkits = ToolkitRoots();
  search.site_packages = SitePackages();
  return search;
}

std::vector<std::string> LocateVendorLibrary(VendorLibrary library, const VendorSearch& search) {
  const std::vector<std::string> folders = FoldersOf(search);
  std::vector<std::string> found;
  for (const std::string& soname : Describe(library).sonames) {
    for (const std::string& folder : folders) {
      const std::string file = absl::StrCat(folder, "/", soname);
      if (access(file.c_str(), R_OK) == 0) found.push_back(file);
    }
  }
  return found;
}

void* LoadedLibrary::Find(const char* name) const { return dlsym(handle, name); }

absl::Status LoadedLibrary::Lacks(const char* name) const {
  return absl::UnavailableError(absl::StrCat(path, " (", version, ") has no ", name, ": it is too old or too new"));
}

absl::StatusOr<LoadedLibrary> LoadVendorLibrary(VendorLibrary library, const VendorSearch& search) {
  const Description& description = Describe(library);
  // The linker then finds them by name, wherever they lie. What is really needed is missed by the library itself.
  for (const VendorLibrary needed : description.needs) LoadVendorLibrary(needed, search).IgnoreError();
  std::vector<std::string> troubles;
  for (const std::string& attempt : Attempts(description, search)) {
    if (void* handle = dlopen(attempt.c_str(), RTLD_NOW | RTLD_LOCAL)) return Opened(description, handle, attempt);
    if (attempt.find('/') != std::string::npos) troubles.push_back(absl::StrCat("does not load: ", dlerror()));
    if (IsIn(attempt, search.explicit_folders)) break;
  }
  return NotLoaded(description, troubles);
}

absl::StatusOr<std::string> FindVendorTool(absl::string_view name, const VendorSearch& search) {
  std::vector<std::string> patterns;
  for (const std::string& root : search.toolkits) {
    for (const char* below : {"bin", "compute-sanitizer", "nsight-compute*"}) {
      patterns.push_back(absl::StrCat(root, "/", below, "/", name));
    }
  }
  patterns.push_back(absl::StrCat("/opt/nvidia/nsight-compute/*/", name));
  for (const std::string& packages : search.site_packages) {
    patterns.push_back(absl::StrCat(packages, "/nvidia/*/bin/", name));
  }
  for (const std::string& pattern : patterns) {
    for (const std::string& path : GlobPaths(pattern)) {
      if (access(path.c_str(), X_OK) == 0 && !fs::is_directory(path)) return Real(path);
    }
  }
  if (auto path = FindProgram(name); path.ok() && search.ask_linker) return Real(*path);
  return absl::NotFoundError(
      absl::StrCat(name, " is in no CUDA toolkit, wheel or folder of PATH. Mend: ", MendOf(name)));
}

std::vector<VendorFinding> FindVendorLibraries(const VendorSearch& search) {
  std::vector<VendorFinding> findings;
  for (const VendorLibrary library :
       {VendorLibrary::kCublasLt, VendorLibrary::kCudnn, VendorLibrary::kCupti, VendorLibrary::kNvml}) {
    findings.push_back(Finding(Describe(library), search));
  }
  for (const Tool& tool : kTools) findings.push_back(Finding(tool, search));
  return findings;
}

}  // namespace sassay
