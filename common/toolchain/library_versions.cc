#include "common/toolchain/library_versions.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/places.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kAsked = absl::Seconds(20);
constexpr const char* kProgram = "vendor-library-version";

std::vector<int> Numbers(absl::string_view version) {
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(version, '.', absl::SkipEmpty())) {
    int number = 0;
    numbers.push_back(absl::SimpleAtoi(part, &number) ? number : 0);
  }
  return numbers;
}

int Major(absl::string_view version) {
  const std::vector<int> numbers = Numbers(version);
  return numbers.empty() ? 0 : numbers.front();
}

bool TooNew(const LibraryVersion& version, absl::string_view driver_cuda) {
  return !driver_cuda.empty() && Major(version.cuda) > Major(driver_cuda);
}

RankedLibrary Asked(VendorLibrary library, const std::string& file, absl::string_view driver_cuda,
                    const AskVersion& ask) {
  RankedLibrary ranked;
  ranked.path = file;
  const auto version = ask(library, file);
  if (version.ok()) ranked.version = *version;
  if (absl::IsUnavailable(version.status())) ranked.unusable = std::string(version.status().message());
  if (version.ok() && TooNew(*version, driver_cuda)) {
    ranked.unusable = absl::StrCat("is for CUDA ", version->cuda, ", the driver runs ", driver_cuda);
  }
  return ranked;
}

// Greater is better.
auto Rank(const LibraryDescription& description, const RankedLibrary& ranked, absl::string_view driver_cuda) {
  const bool within =
      !description.bound_to_minor || driver_cuda.empty() || !IsLaterVersion(ranked.version.cuda, driver_cuda);
  return std::make_tuple(ranked.unusable.empty(), Major(ranked.version.cuda), within, Numbers(ranked.version.version));
}

// Beside this program, or, seen from a test, in the folder of programs.
absl::StatusOr<std::string> AskingProgram() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / kProgram, folder.parent_path() / "bin" / kProgram}) {
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  return absl::NotFoundError(absl::StrCat((folder / kProgram).string(), " is missing: versions cannot be told"));
}

// The last line: a library may print whatever it likes before.
std::string LastLine(absl::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(absl::StripAsciiWhitespace(text), '\n');
  return lines.back();
}

absl::StatusOr<std::string> Ask(std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(const std::string program, AskingProgram());
  Command command;
  command.argv = {program};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  for (const char* name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const std::string value = EnvironmentValue(name); !value.empty()) command.environment[name] = value;
  }
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(command, kAsked, 1 << 16));
  if (report.Succeeded()) return LastLine(report.stdout_text);
  const std::string why = report.stderr_text.empty() ? DescribeExit(report) : LastLine(report.stderr_text);
  return absl::UnavailableError(absl::StrCat("does not load: ", why));
}

// Answers of children, each asked once.
class Answers {
 public:
  absl::StatusOr<std::string> Of(const std::vector<std::string>& arguments) {
    absl::MutexLock lock(&mutex_);
    const auto found = answers_.find(arguments);
    if (found != answers_.end()) return found->second;
    absl::StatusOr<std::string> answer = Ask(arguments);
    if (!absl::IsCancelled(answer.status())) answers_.emplace(arguments, answer);
    return answer;
  }

  static Answers& OfThisProcess() {
    static Answers* const answers = new Answers;
    return *answers;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::vector<std::string>, absl::StatusOr<std::string>> answers_ ABSL_GUARDED_BY(mutex_);
};

int Refuse(absl::string_view why) {
  std::fprintf(stderr, "%s\n", std::string(why).c_str());
  return 1;
}

int PrintDriver() {
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY);
  if (handle == nullptr) handle = dlopen("/usr/local/nvidia/lib64/libcuda.so.1", RTLD_LAZY);
  void* symbol = handle == nullptr ? nullptr : dlsym(handle, "cuDriverGetVersion");
  if (symbol == nullptr) return Refuse("there is no NVIDIA driver");
  int version = 0;
  if (reinterpret_cast<int (*)(int*)>(symbol)(&version) != 0) return Refuse("the driver does not tell its version");
  std::printf("%s\n", CudaRelease(version).c_str());
  return 0;
}

// "13.0.1" -> "13.0".
std::string Release(absl::string_view version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(version, '.');
  return parts.size() < 2 ? std::string(version) : absl::StrCat(parts[0], ".", parts[1]);
}

std::string CudaOf(const LibraryDescription& description, void* handle, const std::string& version) {
  if (description.cuda_of_version) return Release(version);
  void* symbol = description.cuda_symbol == nullptr ? nullptr : dlsym(handle, description.cuda_symbol);
  if (symbol == nullptr) return "";
  const auto number = static_cast<int>(reinterpret_cast<size_t (*)()>(symbol)());
  return number <= 0 ? "" : CudaRelease(number);
}

int PrintLibrary(const LibraryDescription& description, const std::string& file) {
  // What tells the version may lie in the first part, not in the library itself.
  if (!description.parts.empty()) {
    dlopen((fs::path(file).parent_path() / description.parts.front()).c_str(), RTLD_LAZY);
  }
  void* handle = dlopen(file.c_str(), RTLD_LAZY);
  if (handle == nullptr) return Refuse(dlerror());
  void* symbol = description.version_symbol == nullptr ? nullptr : dlsym(handle, description.version_symbol);
  if (symbol == nullptr) return Refuse(absl::StrCat(file, " has no function that tells its version"));
  const std::string version = description.version(symbol);
  std::printf("%s %s\n", version.c_str(), CudaOf(description, handle, version).c_str());
  return 0;
}

}  // namespace

bool IsLaterVersion(absl::string_view a, absl::string_view b) { return Numbers(a) > Numbers(b); }

std::vector<RankedLibrary> RankLibraries(VendorLibrary library, const std::vector<std::string>& files,
                                         absl::string_view driver_cuda, const AskVersion& ask) {
  const LibraryDescription& description = DescribeLibrary(library);
  std::vector<RankedLibrary> ranked;
  for (const std::string& file : files) ranked.push_back(Asked(library, file, driver_cuda, ask));
  std::stable_sort(ranked.begin(), ranked.end(), [&](const RankedLibrary& a, const RankedLibrary& b) {
    return Rank(description, a, driver_cuda) > Rank(description, b, driver_cuda);
  });
  return ranked;
}

absl::StatusOr<LibraryVersion> AskLibraryVersion(VendorLibrary library, const std::string& file) {
  ASSIGN_OR_RETURN(const std::string answer, Answers::OfThisProcess().Of({DescribeLibrary(library).key, file}));
  const std::pair<std::string, std::string> words = absl::StrSplit(answer, absl::MaxSplits(' ', 1));
  return LibraryVersion{words.first, words.second};
}

std::string DriverCudaVersion() { return Answers::OfThisProcess().Of({"driver"}).value_or(""); }

int RunVendorLibraryVersion(int argc, char** argv) {
  if (argc == 2 && absl::string_view(argv[1]) == "driver") return PrintDriver();
  const LibraryDescription* const description = argc == 3 ? FindLibraryByKey(argv[1]) : nullptr;
  if (description != nullptr) return PrintLibrary(*description, argv[2]);
  std::fprintf(stderr, "usage: vendor-library-version cublaslt|cudnn|cupti|nvrtc|cudart FILE, or driver\n");
  return 2;
}

}  // namespace sassay
