#include "common/toolchain/vendor_libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/library_versions.h"
#include "common/toolchain/places.h"
#include "common/toolchain/toolchain.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

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

LoadedLibrary Opened(const LibraryDescription& description, void* handle, const std::string& asked) {
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

// Without empty ones; the first of equals stays.
std::vector<std::string> EachOnce(const std::vector<std::string>& paths) {
  std::vector<std::string> once;
  for (const std::string& path : paths) {
    if (!path.empty() && std::find(once.begin(), once.end(), path) == once.end()) once.push_back(path);
  }
  return once;
}

bool IsExplicit(const std::string& file, const VendorSearch& search) { return IsIn(file, search.explicit_folders); }

// Files that exist, each once: the operator's first, then by ABI, then by place.
std::vector<std::string> Existing(const LibraryDescription& description, const VendorSearch& search) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  const std::vector<std::string> folders = FoldersOf(search);
  for (const std::string& soname : description.sonames) {
    for (const std::string& folder : folders) {
      const std::string file = absl::StrCat(folder, "/", soname);
      if (access(file.c_str(), R_OK) == 0 && seen.insert(Real(file)).second) found.push_back(file);
    }
  }
  std::stable_partition(found.begin(), found.end(), [&](const std::string& file) { return IsExplicit(file, search); });
  return found;
}

std::string DriverOf(const VendorSearch& search) {
  return search.driver_cuda.has_value() ? *search.driver_cuda : DriverCudaVersion();
}

// Asked only where there is a choice.
std::vector<RankedLibrary> Ranked(const LibraryDescription& description, const VendorSearch& search) {
  const std::vector<std::string> files = Existing(description, search);
  if (files.size() > 1 && description.newest && !IsExplicit(files.front(), search)) {
    return RankLibraries(description.library, files, DriverOf(search), AskLibraryVersion);
  }
  std::vector<RankedLibrary> ranked;
  for (const std::string& file : files) ranked.push_back({file, {}, ""});
  return ranked;
}

std::string WhyPassedOver(const RankedLibrary& other, const LoadedLibrary& taken, const LibraryDescription& description,
                          const VendorSearch& search) {
  if (!other.unusable.empty()) return other.unusable;
  if (IsExplicit(taken.path, search)) return "SASSAY_CUDA_LIBRARY_PATH decides";
  if (!description.newest) return "found later";
  if (other.version.version.empty()) return "does not tell its version";
  const std::string made = other.version.cuda.empty() ? "" : absl::StrCat(", for CUDA ", other.version.cuda);
  if (other.version.version == taken.version) return absl::StrCat(other.version.version, made, ", found later");
  const bool older = IsLaterVersion(taken.version, other.version.version);
  return absl::StrCat(other.version.version, made, older ? "" : ", which fits this driver less");
}

absl::Status NotLoaded(const LibraryDescription& description, const std::vector<std::string>& troubles) {
  const std::string why = troubles.empty() ? "is in none of the usual folders" : absl::StrJoin(troubles, "; ");
  return absl::UnavailableError(absl::StrCat(description.name, " (", description.sonames.front(), ") ", why, ". Mend: ",
                                             description.mend, ", or set SASSAY_CUDA_LIBRARY_PATH to its folder"));
}

VendorFinding Finding(const LibraryDescription& description, const VendorSearch& search) {
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
  for (const RankedLibrary& other : Ranked(description, search)) {
    if (Real(other.path) == loaded->path) continue;
    finding.others.push_back(
        absl::StrCat(Real(other.path), " (", WhyPassedOver(other, *loaded, description, search), ")"));
  }
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

// Else they would be asked for by plain name, which may give another version's.
void LoadParts(const LibraryDescription& description, const std::string& library) {
  for (const std::string& part : description.parts) {
    for (const std::string& file : GlobPaths((fs::path(Real(library)).parent_path() / part).string())) {
      dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }
}

std::vector<std::string> PatternsIn(const std::string& toolkit, absl::string_view name) {
  std::vector<std::string> patterns;
  if (toolkit.empty()) return patterns;
  for (const char* below : {"bin", "compute-sanitizer", "nsight-compute*"}) {
    patterns.push_back(absl::StrCat(toolkit, "/", below, "/", name));
  }
  return patterns;
}

// For each place that may hold one release of the tool, where in it.
std::vector<std::vector<std::string>> ToolPlaces(absl::string_view name, const VendorSearch& search) {
  std::vector<std::vector<std::string>> places;
  for (const std::string& root : search.toolkits) places.push_back(PatternsIn(root, name));
  for (const std::string& release : GlobPaths("/opt/nvidia/nsight-compute/*")) {
    places.push_back({absl::StrCat(release, "/", name)});
  }
  for (const std::string& packages : search.site_packages) {
    for (const std::string& folder : GlobPaths(packages + "/nvidia/*/bin")) {
      places.push_back({absl::StrCat(folder, "/", name)});
    }
  }
  return places;
}

// Free of symbolic links; empty if there is none.
std::string FirstTool(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    for (const std::string& path : GlobPaths(pattern)) {
      if (access(path.c_str(), X_OK) == 0 && !fs::is_directory(path)) return Real(path);
    }
  }
  return "";
}

// "/usr/local/cuda-13.0/bin/ncu" or ".../nvidia/cu13/bin/ncu" -> 13; 0 where the path does not tell.
int CudaMajorInPath(const std::string& path) {
  for (const char* before : {"/cuda-", "/cu"}) {
    const size_t at = path.find(before);
    if (at == std::string::npos) continue;
    const int major = std::atoi(path.c_str() + at + std::strlen(before));
    if (major > 0) return major;
  }
  return 0;
}

void DropNewerThanDriver(std::vector<std::string>& programs, const VendorSearch& search) {
  if (programs.size() < 2) return;
  const int driver = std::atoi(DriverOf(search).c_str());
  if (driver > 0) std::erase_if(programs, [&](const std::string& path) { return CudaMajorInPath(path) > driver; });
}

std::string MendOf(absl::string_view tool) {
  if (tool == "cuobjdump") return "install the CUDA toolkit, or pip install nvidia-cuda-cuobjdump";
  for (const Tool& known : kTools) {
    if (known.name == tool) return known.mend;
  }
  return "install the CUDA toolkit";
}

}  // namespace

absl::string_view VendorLibraryName(VendorLibrary library) { return DescribeLibrary(library).name; }

VendorSearch VendorSearch::FromEnvironment() {
  VendorSearch search;
  search.explicit_folders = absl::StrSplit(EnvironmentValue("SASSAY_CUDA_LIBRARY_PATH"), ':', absl::SkipEmpty());
  search.linker_folders = absl::StrSplit(EnvironmentValue("LD_LIBRARY_PATH"), ':', absl::SkipEmpty());
  for (const char* folder : {"/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"}) {
    search.linker_folders.push_back(folder);
  }
  search.explicit_toolkit = EnvironmentValue("SASSAY_CUDA_HOME");
  search.toolkits = ToolkitRoots();
  search.site_packages = SitePackages();
  return search;
}

std::vector<std::string> LocateVendorLibrary(VendorLibrary library, const VendorSearch& search) {
  std::vector<std::string> files;
  for (RankedLibrary& ranked : Ranked(DescribeLibrary(library), search)) files.push_back(std::move(ranked.path));
  return files;
}

void* LoadedLibrary::Find(const char* name) const { return dlsym(handle, name); }

absl::Status LoadedLibrary::Lacks(const char* name) const {
  return absl::UnavailableError(absl::StrCat(path, " (", version, ") has no ", name, ": it is too old or too new"));
}

absl::StatusOr<LoadedLibrary> LoadVendorLibrary(VendorLibrary library, const VendorSearch& search) {
  const LibraryDescription& description = DescribeLibrary(library);
  // The linker then finds them by name, wherever they lie. What is really needed is missed by the library itself.
  for (const VendorLibrary needed : description.needs) LoadVendorLibrary(needed, search).IgnoreError();
  std::vector<std::string> troubles;
  for (const RankedLibrary& ranked : Ranked(description, search)) {
    if (!ranked.unusable.empty()) {
      troubles.push_back(absl::StrCat(ranked.path, " ", ranked.unusable));
      continue;
    }
    LoadParts(description, ranked.path);
    if (void* handle = dlopen(ranked.path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return Opened(description, handle, ranked.path);
    }
    troubles.push_back(absl::StrCat("does not load: ", dlerror()));
    if (IsExplicit(ranked.path, search)) return NotLoaded(description, troubles);
  }
  for (const std::string& soname : search.ask_linker ? description.sonames : std::vector<std::string>()) {
    if (void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL)) return Opened(description, handle, soname);
  }
  return NotLoaded(description, troubles);
}

absl::StatusOr<std::string> FindVendorTool(absl::string_view name, const VendorSearch& search) {
  const std::string own = FirstTool(PatternsIn(search.explicit_toolkit, name));
  if (!own.empty()) return own;
  std::vector<std::string> programs;
  for (const std::vector<std::string>& patterns : ToolPlaces(name, search)) programs.push_back(FirstTool(patterns));
  if (auto path = FindProgram(name); path.ok() && search.ask_linker) programs.push_back(Real(*path));
  programs = EachOnce(programs);
  // What runs beside the driver has to know it; a disassembler reads files alone.
  if (name != "nvdisasm") DropNewerThanDriver(programs, search);
  if (!programs.empty()) return NewestTool(programs);
  return absl::NotFoundError(
      absl::StrCat(name, " is in no CUDA toolkit, wheel or folder of PATH. Mend: ", MendOf(name)));
}

std::vector<VendorFinding> FindVendorLibraries(const VendorSearch& search) {
  std::vector<VendorFinding> findings;
  for (const VendorLibrary library :
       {VendorLibrary::kCublasLt, VendorLibrary::kCudnn, VendorLibrary::kCupti, VendorLibrary::kNvml}) {
    findings.push_back(Finding(DescribeLibrary(library), search));
  }
  for (const Tool& tool : kTools) findings.push_back(Finding(tool, search));
  return findings;
}

}  // namespace sassay
