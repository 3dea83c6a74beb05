// Makes the lists of vendor kernels that admission refuses (vendor_kernels.h) out of this machine's libraries: what
// cuobjdump extracts of cuBLAS and cuDNN, one list for each library file. Half a minute of one core and a gigabyte of
// scratch space for all of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/places.h"
#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/admission/vendor_kernels.h"

namespace sassay::admission {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kExtraction = absl::Minutes(10);
// Beside what they belong to.
constexpr const char* kParts[] = {"libcublas.so.*[0-9]", "libcudnn_*.so.9"};

struct Flags {
  std::string folder;
  std::vector<std::string> archs = {"sm_90a", "sm_100a"};
  std::vector<std::string> libraries;
};

// Every release of cuBLAS and cuDNN that this machine has, with their parts.
std::vector<std::string> LibrariesHere() {
  std::set<std::string> found;
  std::error_code error;
  for (const VendorLibrary library : {VendorLibrary::kCublasLt, VendorLibrary::kCudnn}) {
    for (const std::string& file : LocateVendorLibrary(library)) {
      const fs::path real = fs::canonical(file, error);
      found.insert(real.string());
      for (const char* part : kParts) {
        for (const std::string& beside : GlobPaths((real.parent_path() / part).string())) {
          found.insert(fs::canonical(beside, error).string());
        }
      }
    }
  }
  found.erase("");
  return {found.begin(), found.end()};
}

absl::Status Extract(const std::string& cuobjdump, std::vector<std::string> what, const std::string& library,
                     const fs::path& folder) {
  Command command;
  command.argv = {cuobjdump};
  command.argv.insert(command.argv.end(), what.begin(), what.end());
  command.argv.push_back(library);
  command.environment["PATH"] = EnvironmentValue("PATH");
  command.working_directory = folder.string();
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, kExtraction));
  if (report.Succeeded()) return absl::OkStatus();
  // A library without code for this architecture, or without PTX.
  if (report.kind == ExitReport::Kind::kExited && fs::is_empty(folder)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(cuobjdump, " was ", DescribeExit(report), ": ", report.stderr_text));
}

std::vector<std::string> FilesOf(const fs::path& folder, absl::string_view extension) {
  std::vector<std::string> contents;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != fs::path(std::string(extension))) continue;
    auto content = ReadFile(entry.path());
    if (content.ok()) contents.push_back(*std::move(content));
  }
  return contents;
}

absl::Status ListLibrary(const Flags& flags, const std::string& cuobjdump, const std::string& library) {
  std::error_code error;
  VendorList about;
  about.library = fs::path(library).filename().string();
  about.bytes = fs::file_size(library, error);
  const fs::path out = fs::path(flags.folder) / absl::StrCat(about.library, "-", about.bytes, ".list");
  if (fs::exists(out, error)) {
    std::printf("%s: is listed already\n", library.c_str());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const TemporaryDirectory scratch, TemporaryDirectory::Create("sassay-vendor-kernels"));
  for (const std::string& arch : flags.archs) {
    RETURN_IF_ERROR(Extract(cuobjdump, {"-arch", arch, "-xelf", "all"}, library, scratch.path()));
  }
  RETURN_IF_ERROR(Extract(cuobjdump, {"-xptx", "all"}, library, scratch.path()));
  const std::string list = MakeVendorList(about, FilesOf(scratch.path(), ".cubin"), FilesOf(scratch.path(), ".ptx"));
  VendorKernels check;
  RETURN_IF_ERROR(check.Add(list));
  std::printf("%s: %llu functions\n", library.c_str(), static_cast<unsigned long long>(check.functions()));
  std::fflush(stdout);
  return WriteFileAtomically(out, list);
}

absl::Status Run(Flags flags) {
  ASSIGN_OR_RETURN(const std::string cuobjdump, FindVendorTool("cuobjdump"));
  if (flags.libraries.empty()) flags.libraries = LibrariesHere();
  if (flags.libraries.empty()) return absl::NotFoundError("this machine has neither cuBLAS nor cuDNN");
  std::error_code error;
  fs::create_directories(flags.folder, error);
  for (const std::string& library : flags.libraries) RETURN_IF_ERROR(ListLibrary(flags, cuobjdump, library));
  return absl::OkStatus();
}

}  // namespace
}  // namespace sassay::admission

int main(int argc, char** argv) {
  CLI::App app{
      "Lists the kernels of this machine's cuBLAS and cuDNN, which profiler-service then refuses as a candidate's"};
  sassay::admission::Flags flags;
  app.add_option("-o,--output", flags.folder, "Folder for the lists: STATE/vendor_kernels of the service")->required();
  app.add_option("--arch", flags.archs, "Architectures")->delimiter(',')->capture_default_str();
  app.add_option("LIBRARY", flags.libraries, "Library files; those of this machine where none is named");
  app.footer("Example:\n  vendor-kernels -o /var/lib/sassay/vendor_kernels");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = sassay::admission::Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "vendor-kernels: %s\n", std::string(status.message()).c_str());
  return 1;
}
