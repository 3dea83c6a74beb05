#include "agent/capture/runtime/kernels.h"

#include <driver_types.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "common/demangle/plain_demangle.h"

namespace sassay::capture {
namespace {

// Filled by static initialisers of the candidate, before the first call; the names are resolved when they are used,
// because registration may come before the task is known.
struct Registry {
  std::map<const void*, std::string> stubs;
  std::map<const void*, std::string> variables;
  std::set<const void*> images;
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

// Layout of __fatBinC_Wrapper_t (fatbinary_section.h).
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  void* filename_or_fatbins;
};

int RoundUp(int value, int unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

KernelInfo* FindKernelByName(const std::string& name) {
  auto& kernels = Session::Get().task().kernels;
  const auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

KernelInfo* FindKernel(const void* handle_or_stub) {
  const auto stub = TheRegistry().stubs.find(handle_or_stub);
  if (stub != TheRegistry().stubs.end()) return FindKernelByName(stub->second);
  for (auto& [name, kernel] : Session::Get().task().kernels) {
    if (&kernel == handle_or_stub) return &kernel;
  }
  return nullptr;
}

KernelInfo& RequireKernel(const char* function, const void* handle_or_stub) {
  if (KernelInfo* kernel = FindKernel(handle_or_stub)) return *kernel;
  const auto stub = TheRegistry().stubs.find(handle_or_stub);
  if (stub != TheRegistry().stubs.end()) {
    Session::Get().Refuse(
        FindingCode::kForbiddenLibrary,
        std::string(function) + ": the kernel " + stub->second +
            " is not in the candidate's cubin: only kernels compiled from its own source can be launched");
  }
  Session::Get().Refuse(FindingCode::kLaunchInvalid,
                        std::string(function) + ": this is neither a __global__ function nor a kernel handle");
}

SymbolInfo* FindSymbolByName(const std::string& name) {
  for (SymbolInfo& symbol : Session::Get().task().symbols) {
    if (symbol.name == name) return &symbol;
  }
  return nullptr;
}

SymbolInfo& RequireSymbol(const char* function, const void* host_variable) {
  const auto variable = TheRegistry().variables.find(host_variable);
  if (variable == TheRegistry().variables.end()) {
    Session::Get().Refuse(FindingCode::kPointerOutOfBuffer,
                          std::string(function) + ": this is not a __device__ or __constant__ variable");
  }
  if (SymbolInfo* symbol = FindSymbolByName(variable->second)) return *symbol;
  Session::Get().Refuse(FindingCode::kPointerOutOfBuffer, std::string(function) + ": the cubin has no variable " +
                                                              variable->second +
                                                              " (the compiler removes variables that no kernel uses)");
}

bool IsRegisteredImage(const void* image) { return TheRegistry().images.count(image) != 0; }

const void* AnyRegisteredImage() { return TheRegistry().images.empty() ? nullptr : *TheRegistry().images.begin(); }

uint64_t DynamicSharedLimit(const KernelInfo& kernel) {
  if (kernel.dynamic_shared_limit != 0) return kernel.dynamic_shared_limit;
  const int64_t plain = Session::Get().Attribute(cudaDevAttrMaxSharedMemoryPerBlock);
  return static_cast<uint64_t>(std::max<int64_t>(plain - kernel.static_shared_bytes, 0));
}

// The CUDA occupancy calculator's rules for compute capability 9.0 and 10.0: registers are given to warps in units of
// 256, a quarter of them per scheduler; shared memory in units of 128 bytes after the driver's reserve.
int ResidentBlocks(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared_bytes) {
  const Session& session = Session::Get();
  if (block_threads <= 0 || block_threads > static_cast<int>(kernel.max_threads)) return 0;
  const int warps = RoundUp((block_threads + 31) / 32, 4);
  const int max_warps = static_cast<int>(session.Attribute(cudaDevAttrMaxThreadsPerMultiProcessor)) / 32;
  int blocks = static_cast<int>(session.Attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
  blocks = std::min(blocks, max_warps / ((block_threads + 31) / 32));
  if (kernel.registers > 0) {
    const int registers_per_scheduler =
        static_cast<int>(session.Attribute(cudaDevAttrMaxRegistersPerMultiprocessor)) / 4;
    const int warps_by_registers = registers_per_scheduler / RoundUp(static_cast<int>(kernel.registers) * 32, 256) * 4;
    blocks = std::min(blocks, warps_by_registers / warps);
  }
  const auto reserved = static_cast<uint64_t>(session.Attribute(cudaDevAttrReservedSharedMemoryPerBlock));
  const uint64_t shared = (kernel.static_shared_bytes + dynamic_shared_bytes + reserved + 127) / 128 * 128;
  const auto available = static_cast<uint64_t>(session.Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  if (shared > 0) blocks = std::min<int>(blocks, static_cast<int>(available / shared));
  return blocks;
}

int ResidentClusters(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared_bytes, int cluster_blocks) {
  const int resident = ResidentBlocks(kernel, block_threads, dynamic_shared_bytes);
  int clusters = 0;
  for (int multiprocessors : Session::Get().task().gpc_multiprocessors) {
    clusters += multiprocessors * resident / std::max(cluster_blocks, 1);
  }
  return clusters;
}

void BestBlockSize(const KernelInfo& kernel, uint64_t dynamic_shared_bytes, int block_limit, int* min_grid,
                   int* block) {
  int best_threads = 0, best_blocks = 0, best_size = 0;
  const int largest = block_limit > 0 ? std::min<int>(block_limit, kernel.max_threads) : kernel.max_threads;
  for (int threads = largest / 32 * 32; threads >= 32; threads -= 32) {
    const int blocks = ResidentBlocks(kernel, threads, dynamic_shared_bytes);
    if (blocks * threads <= best_threads) continue;
    best_threads = blocks * threads;
    best_blocks = blocks;
    best_size = threads;
  }
  *min_grid = best_blocks * static_cast<int>(Session::Get().Attribute(cudaDevAttrMultiProcessorCount));
  *block = best_size;
}

std::string ShortName(const std::string& symbol) { return PlainShortName(symbol); }

}  // namespace sassay::capture

// --- registration: what nvcc's generated code calls from static initialisers ---

using sassay::capture::FindingCode;
using sassay::capture::Session;

extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary) {
  const auto* wrapper = static_cast<const sassay::capture::FatBinaryWrapper*>(fat_binary);
  auto& images = sassay::capture::TheRegistry().images;
  images.insert(wrapper->data);
  auto** handle = new void*[2];
  handle[0] = const_cast<void*>(wrapper->data);
  handle[1] = nullptr;
  return handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void**, const char* stub, char*, const char* device_name, int, void*, void*, void*, void*,
                            int*) {
  sassay::capture::TheRegistry().stubs[stub] = device_name;
}

void __cudaRegisterVar(void**, char* host_variable, char*, const char* device_name, int, size_t, int, int) {
  sassay::capture::TheRegistry().variables[host_variable] = device_name;
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

void __cudaRegisterManagedVar(void**, void**, char*, const char* device_name, int, size_t, int, int) {
  Session::Get().Refuse(FindingCode::kUnsupportedApi, std::string("unsupported: __managed__ variable ") + device_name +
                                                          "; use __device__ and cudaMemcpyToSymbol");
}

}  // extern "C"
