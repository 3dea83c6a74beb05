#include "agent/compile/staging.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "agent/compile/sources.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

// 2020-01-01, for __DATE__, __TIME__ and the times of files.
constexpr time_t kFixedTime = 1577836800;
constexpr uint64_t kBuiltLimit = uint64_t{1} << 30;

absl::Status WriteSource(const fs::path& path, absl::string_view content) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  const timespec times[2] = {{kFixedTime, 0}, {kFixedTime, 0}};
  if (!file || utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path.string()));
  }
  return absl::OkStatus();
}

std::string VirtualArch(const std::string& arch) { return absl::StrReplaceAll(arch, {{"sm_", "compute_"}}); }

}  // namespace

absl::StatusOr<Staging> Staging::Create(const CompileRequest& request, const CompilerOptions& options) {
  ASSIGN_OR_RETURN(TemporaryDirectory root, TemporaryDirectory::Create("sassay-compile"));
  Staging staging(std::move(root), request, options);
  RETURN_IF_ERROR(staging.WriteSources());
  RETURN_IF_ERROR(staging.WriteUnit());
  return staging;
}

std::string Staging::Seen(const char* inside, const fs::path& host) const {
  return sandboxed() ? inside : host.string();
}

std::string Staging::Include(size_t index) const {
  return sandboxed() ? absl::StrCat("/include/", index) : request_->include_directories[index];
}

absl::Status Staging::WriteSources() {
  fs::create_directory(root_.path() / "candidate");
  fs::create_directory(root_.path() / "build");
  for (const auto& source : request_->sources) {
    RETURN_IF_ERROR(WriteSource(root_.path() / "candidate" / source.path(), source.content()));
  }
  return absl::OkStatus();
}

// nvcc gets the one file there is, or one that includes all: a candidate has one cubin.
absl::Status Staging::WriteUnit() {
  std::string text;
  int count = 0;
  for (const auto& source : request_->sources) {
    if (!IsCompiled(source.path())) continue;
    unit_ = absl::StrCat(Candidate(), "/", source.path());
    absl::StrAppend(&text, "#include \"", unit_, "\"\n");
    ++count;
  }
  if (count == 1 && absl::EndsWith(unit_, ".cu")) return absl::OkStatus();
  unit_ = Build() + "/candidate.cu";
  return WriteSource(root_.path() / "build/candidate.cu", text);
}

std::vector<std::string> Staging::RecordedOptions() const {
  std::vector<std::string> options = {"-std=c++17",
                                      "-gencode",
                                      absl::StrCat("arch=", VirtualArch(request_->arch), ",code=", request_->arch),
                                      "-lineinfo",
                                      "--expt-relaxed-constexpr",
                                      "--extended-lambda"};
  for (const auto& define : request_->defines) options.push_back("-D" + define);
  return options;
}

std::vector<std::string> HostOptions() {
  // Host code is only recorded, so it is not optimised; debug information lets capture name the line that called CUDA
  // and the parameters of the entry point.
  return {"-Xptxas", "-v", "-shared", "-Xcompiler", "-fPIC,-g,-fmax-errors=20", "-cudart", "none", "--keep"};
}

std::vector<std::string> Staging::NvccArguments() const {
  std::vector<std::string> arguments = RecordedOptions();
  for (auto& option : HostOptions()) arguments.push_back(std::move(option));
  for (size_t i = 0; i < request_->include_directories.size(); ++i) arguments.push_back("-I" + Include(i));
  arguments.push_back("-I" + Candidate());
  if (!options_->toolchain.tvm_ffi_include.empty()) arguments.push_back("-I" + TvmFfi());
  arguments.insert(arguments.end(), {"--keep-dir", Build(), "-o", Build() + "/candidate.so", unit_});
  return arguments;
}

std::string Staging::Nvcc() const {
  return sandboxed() ? ToolInside(options_->toolchain, options_->toolchain.nvcc) : options_->toolchain.nvcc;
}

absl::StatusOr<Command> Staging::Wrap(std::vector<std::string> argv) const {
  Command command;
  command.argv = std::move(argv);
  command.environment = {{"PATH", "/usr/bin:/bin"},
                         {"TMPDIR", Build()},
                         {"HOME", Build()},
                         {"LC_ALL", "C"},
                         {"SOURCE_DATE_EPOCH", absl::StrCat(kFixedTime)}};
  command.working_directory = Build();
  SandboxPolicy policy;
  policy.read_only = ToolMounts(options_->toolchain, options_->toolchain.nvcc);
  policy.read_only.emplace_back((root_.path() / "candidate").string(), "/candidate");
  for (size_t i = 0; i < request_->include_directories.size(); ++i) {
    policy.read_only.emplace_back(request_->include_directories[i], Include(i));
  }
  if (!options_->toolchain.tvm_ffi_include.empty()) {
    policy.read_only.emplace_back(options_->toolchain.tvm_ffi_include, "/tvm_ffi/include");
  }
  policy.writable = {{(root_.path() / "build").string(), "/build"}};
  policy.address_space_bytes = options_->memory_bytes;
  policy.file_bytes = options_->file_bytes;
  // A little more: the verdict shall be the deadline's, which says so.
  policy.cpu_time = options_->timeout + absl::Seconds(2);
  return sandboxed() ? WrapInSandbox(command, policy) : WrapWithoutSandbox(command, policy, *options_->unsandboxed);
}

absl::StatusOr<std::string> Staging::ReadBuilt(const std::string& name) const {
  fs::path path = root_.path() / "build" / fs::path(name).filename();
  absl::StatusOr<std::string> content = ReadUntrustedFile(path, kBuiltLimit);
  if (content.ok()) return content;
  return absl::InternalError(
      absl::StrCat("nvcc left no ", path.filename().string(), " that can be read: ", content.status().message()));
}

absl::Status Staging::WriteBuilt(const std::string& name, absl::string_view content) const {
  return WriteFileAtomically(root_.path() / "build" / fs::path(name).filename(), content);
}

absl::Status Staging::CheckSpace() const {
  constexpr uint64_t kLittle = 16 << 20;
  std::error_code error;
  const fs::space_info space = fs::space(root_.path(), error);
  if (error || space.available >= kLittle) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the compiler broke off, and ", root_.path().parent_path().string(),
                                             " has ", space.available >> 20,
                                             " MiB left: free some space, or set TMPDIR to a folder with more"));
}

DiagnosticContext Staging::Messages() const {
  DiagnosticContext context;
  context.sources = &request_->sources;
  context.path_names = {{Candidate() + "/", ""},
                        {Build() + "/", ""},
                        {"./", ""},
                        {Seen("/cuda", options_->toolchain.root) + "/", "cuda/"},
                        {"/usr/", "/usr/"}};
  for (size_t i = 0; i < request_->include_directories.size(); ++i) {
    context.path_names.emplace_back(Include(i) + "/", "");
  }
  if (!options_->toolchain.tvm_ffi_include.empty()) context.path_names.emplace_back(TvmFfi() + "/", "");
  return context;
}

}  // namespace sassay
