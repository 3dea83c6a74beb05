#include "agent/compile/cache/cache_key.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/compile/staging.h"
#include "common/base/sha256.h"
#include "common/process/subprocess.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 3;

// A digest over strings whose boundaries count.
class KeyStream {
 public:
  void Add(absl::string_view text) {
    stream_.Update(absl::StrCat(text.size(), ":"));
    stream_.Update(text);
  }
  std::string Finish() {
    std::string hex;
    for (unsigned char byte : stream_.Finish()) absl::StrAppend(&hex, absl::Hex(byte, absl::kZeroPad2));
    return hex;
  }

 private:
  Sha256Stream stream_;
};

// Name, size and time: a change of any is taken for a change of the content.
std::string Identity(const fs::path& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return absl::StrCat(path.string(), " missing");
  return absl::StrCat(path.string(), " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

void AddFolder(KeyStream& key, const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (!entry.is_directory(error)) files.push_back(Identity(entry.path()));
  }
  std::sort(files.begin(), files.end());
  key.Add(folder);
  for (const auto& file : files) key.Add(file);
}

void AddTools(KeyStream& key, const CompilerOptions& options) {
  const Toolchain& tools = options.toolchain;
  key.Add(tools.version);
  for (const auto& tool : {tools.nvcc, tools.ptxas, tools.nvdisasm, tools.tvm_ffi_include}) key.Add(Identity(tool));
  for (const char* name : {"g++", "gcc", "ld"}) key.Add(Identity(absl::StrCat("/usr/bin/", name)));
}

}  // namespace

std::string CompileCacheKey(const CompileRequest& request, const CompilerOptions& options) {
  KeyStream key;
  key.Add(absl::StrCat("compile ", kFormat, " ", SASSAY_VERSION));
  for (const auto& source : request.sources) {
    key.Add(source.path());
    key.Add(source.content());
  }
  key.Add(request.arch);
  for (const auto& define : request.defines) key.Add("-D" + define);
  for (const auto& folder : request.include_directories) AddFolder(key, folder);
  for (const auto& option : HostOptions()) key.Add(option);
  AddTools(key, options);
  key.Add(!options.unsandboxed ? "sandboxed" : options.unsandboxed->landlock ? "in place" : "unsandboxed");
  return key.Finish();
}

}  // namespace sassay
