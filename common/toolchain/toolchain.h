// Finds the CUDA tools of this machine, so that nobody else guesses where nvcc is.
#ifndef SASSAY_COMMON_TOOLCHAIN_TOOLCHAIN_H_
#define SASSAY_COMMON_TOOLCHAIN_TOOLCHAIN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay {

// Where a sandboxed tool finds the toolkit that it belongs to. Fixed, because nvcc writes the paths of headers into
// line tables.
inline constexpr absl::string_view kToolkitInside = "/cuda";

// A CUDA toolkit. Paths are absolute and free of symbolic links; an empty path means that the tool is not there. Plain
// data.
struct Toolchain {
  // The folder that holds bin/ and include/.
  std::string root;
  // Release of ptxas, which decides the cubin: "13.0.88".
  std::string version;
  // Of `root`.
  std::string nvcc;
  std::string ptxas;
  // Of `root` or of another toolkit found on the way (disassemblers read older cubins); the newest nvdisasm, unless an
  // explicit home has one.
  std::string nvdisasm;
  std::string cuobjdump;
  std::string compute_sanitizer;
  // Folder with <tvm/ffi/…> and <dlpack/dlpack.h> (the apache-tvm-ffi wheel); tvm_ffi candidates include them.
  std::string tvm_ffi_include;
  // What is not there, in words, with the command that mends it; nvcc and ptxas are never in it.
  std::vector<std::string> missing;
};

// Where to look.
struct ToolchainSearch {
  // First choice (a --cuda-home flag); empty for none.
  std::string cuda_home;
  // Look nowhere but in cuda_home.
  bool only_cuda_home = false;
};

// The first of: search.cuda_home, $SASSAY_CUDA_HOME, $CUDA_HOME, /usr/local/cuda, .venv/cuda in a folder above this
// program or the working directory (what deploy/install_dependencies.sh makes), and the folder of nvcc or ptxas in
// PATH, that holds a ptxas which runs. nvcc may be missing (a service needs ptxas alone). NOT_FOUND says where it
// looked and what to do. An explicit cuda_home or $SASSAY_CUDA_HOME that holds no ptxas is an error, not passed over.
absl::StatusOr<Toolchain> FindToolchain(const ToolchainSearch& search = {});

// Runs `tool --version` and takes the release out of it: "13.0.88".
absl::StatusOr<std::string> ToolVersion(const std::string& tool);

// The one of `programs` (not empty) that says the latest version, the first among equals. They are asked only if there
// are several, each once in the life of this process. Thread-safe.
std::string NewestTool(const std::vector<std::string>& programs);

// The toolkit's version out of what its tools print: "… V13.0.88 …".
absl::StatusOr<std::string> ParseToolVersion(absl::string_view output);

// Host paths that a sandbox must show read-only so that `tool` (a path of the toolchain) runs: (host, inside). Of nvcc
// and ptxas the whole toolkit at kToolkitInside; other tools at /tools/NAME.
std::vector<std::pair<std::string, std::string>> ToolMounts(const Toolchain& toolchain, const std::string& tool);

// Where `tool` is found inside a sandbox with ToolMounts.
std::string ToolInside(const Toolchain& toolchain, const std::string& tool);

}  // namespace sassay

#endif  // SASSAY_COMMON_TOOLCHAIN_TOOLCHAIN_H_
