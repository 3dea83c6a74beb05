// From what host code holds (a stub's address, a cudaKernel_t, a CUfunction) to the kernel's record, and the arithmetic
// of residency on a multiprocessor.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_KERNELS_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_KERNELS_H_

#include <cstdint>
#include <string>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {

// nullptr where nothing was registered. A handle of any kind, or the stub's address.
KernelInfo* FindKernel(const void* handle_or_stub);
// Ends the capture, naming `function`, where nothing is found.
KernelInfo& RequireKernel(const char* function, const void* handle_or_stub);
// By host variable address; ends the capture where nothing is found.
SymbolInfo& RequireSymbol(const char* function, const void* host_variable);
// By name; nullptr where the cubin has none.
SymbolInfo* FindSymbolByName(const std::string& name);
KernelInfo* FindKernelByName(const std::string& name);
// Whether `image` is an image that the candidate's own object registered.
bool IsRegisteredImage(const void* image);
// Any registered image: what "the module" means to the driver API. nullptr before registration.
const void* AnyRegisteredImage();

// Largest dynamic shared memory that a launch of `kernel` may ask for now, in bytes.
uint64_t DynamicSharedLimit(const KernelInfo& kernel);

// Resident blocks per multiprocessor, as cudaOccupancyMaxActiveBlocksPerMultiprocessor. 0 where a block does not fit.
int ResidentBlocks(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared_bytes);
// Resident clusters on the whole GPU, as cudaOccupancyMaxActiveClusters.
int ResidentClusters(const KernelInfo& kernel, int block_threads, uint64_t dynamic_shared_bytes, int cluster_blocks);
// cudaOccupancyMaxPotentialBlockSize's answer for a fixed dynamic size: fills both.
void BestBlockSize(const KernelInfo& kernel, uint64_t dynamic_shared_bytes, int block_limit, int* min_grid, int* block);

// A kernel's name for people, without the parameter list.
std::string ShortName(const std::string& symbol);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_KERNELS_H_
