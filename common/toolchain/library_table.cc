#include "common/toolchain/library_table.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sassay {
namespace {

// 130100 is 13.1.0.
std::string Dotted(uint64_t number) {
  return absl::StrCat(number / 10000, ".", number % 10000 / 100, ".", number % 100);
}

// Of cuBLASLt and cuDNN.
std::string ReturnedVersion(void* function) { return Dotted(reinterpret_cast<size_t (*)()>(function)()); }

std::string CuptiVersion(void* function) {
  uint32_t version = 0;
  reinterpret_cast<int (*)(uint32_t*)>(function)(&version);
  return Dotted(version);
}

std::string NvrtcVersion(void* function) {
  int major = 0, minor = 0;
  reinterpret_cast<int (*)(int*, int*)>(function)(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

std::string CudartVersion(void* function) {
  int version = 0;
  reinterpret_cast<int (*)(int*)>(function)(&version);
  return CudaRelease(version);
}

}  // namespace

std::string CudaRelease(int number) { return absl::StrCat(number / 1000, ".", number % 1000 / 10); }

const std::vector<LibraryDescription>& LibraryDescriptions() {
  static const auto* const descriptions = new std::vector<LibraryDescription>{
      {.library = VendorLibrary::kCublasLt,
       .key = "cublaslt",
       .name = "cuBLASLt",
       .purpose = "GEMM baselines",
       .sonames = {"libcublasLt.so.13", "libcublasLt.so.12"},
       .mend = "pip install nvidia-cublas",
       .version_symbol = "cublasLtGetVersion",
       .version = ReturnedVersion,
       .cuda_symbol = "cublasLtGetCudartVersion",
       .cuda_of_version = false,
       .bound_to_minor = false,
       .newest = true,
       .parts = {},
       .needs = {}},
      {.library = VendorLibrary::kCudnn,
       .key = "cudnn",
       .name = "cuDNN",
       .purpose = "attention baselines",
       .sonames = {"libcudnn.so.9"},
       .mend = "pip install nvidia-cudnn-cu13",
       .version_symbol = "cudnnGetVersion",
       .version = ReturnedVersion,
       .cuda_symbol = "cudnnGetCudartVersion",
       .cuda_of_version = false,
       .bound_to_minor = false,
       .newest = true,
       .parts = {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_heuristic.so.9", "libcudnn_engines_*.so.9"},
       .needs = {VendorLibrary::kNvrtc, VendorLibrary::kCublasLt, VendorLibrary::kCudart}},
      {.library = VendorLibrary::kCupti,
       .key = "cupti",
       .name = "CUPTI",
       .purpose = "evidence of executed instructions",
       .sonames = {"libcupti.so.13"},
       .mend = "pip install nvidia-cuda-cupti",
       .version_symbol = "cuptiGetVersion",
       .version = CuptiVersion,
       .cuda_symbol = nullptr,
       .cuda_of_version = true,
       .bound_to_minor = true,
       .newest = true,
       .parts = {},
       .needs = {}},
      {.library = VendorLibrary::kNvml,
       .key = "nvml",
       .name = "NVML",
       .purpose = "clocks and throttle reasons, which every timing needs",
       .sonames = {"libnvidia-ml.so.1"},
       .mend = "it comes with the NVIDIA driver",
       .version_symbol = nullptr,
       .version = nullptr,
       .cuda_symbol = nullptr,
       .cuda_of_version = false,
       .bound_to_minor = false,
       .newest = false,
       .parts = {},
       .needs = {}},
      {.library = VendorLibrary::kNvrtc,
       .key = "nvrtc",
       .name = "NVRTC",
       .purpose = "cuDNN's engines that compile at run time",
       .sonames = {"libnvrtc.so.13", "libnvrtc.so.12"},
       .mend = "pip install nvidia-cuda-nvrtc",
       .version_symbol = "nvrtcVersion",
       .version = NvrtcVersion,
       .cuda_symbol = nullptr,
       .cuda_of_version = true,
       .bound_to_minor = true,
       .newest = true,
       .parts = {},
       .needs = {}},
      {.library = VendorLibrary::kCudart,
       .key = "cudart",
       .name = "CUDA runtime",
       .purpose = "cuDNN's frontend",
       .sonames = {"libcudart.so.13", "libcudart.so.12"},
       .mend = "pip install nvidia-cuda-runtime",
       .version_symbol = "cudaRuntimeGetVersion",
       .version = CudartVersion,
       .cuda_symbol = nullptr,
       .cuda_of_version = true,
       .bound_to_minor = false,
       .newest = true,
       .parts = {},
       .needs = {}},
  };
  return *descriptions;
}

const LibraryDescription& DescribeLibrary(VendorLibrary library) {
  for (const LibraryDescription& description : LibraryDescriptions()) {
    if (description.library == library) return description;
  }
  return LibraryDescriptions().front();
}

const LibraryDescription* FindLibraryByKey(absl::string_view key) {
  for (const LibraryDescription& description : LibraryDescriptions()) {
    if (description.key == key) return &description;
  }
  return nullptr;
}

}  // namespace sassay
