// Questions about limits and memory that runtime and driver API share. Each returns a CUDA error number; answers that a
// launch may depend on are recorded as assumptions.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_QUERIES_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_QUERIES_H_

#include <cstddef>
#include <cstdint>

namespace sassay::capture {

// cudaLimit and CUlimit share their numbers. Ends the capture for limits that the replay cannot have (device heap,
// printf buffer): it keeps the driver's.
int SetLimit(const char* function, int limit, size_t value);
int GetLimit(int limit, size_t* value);

// cudaMemPoolAttr and CUmemPool_attribute share their numbers.
int SetPoolAttribute(int attribute, const void* value);
int GetPoolAttribute(int attribute, void* value);

// What is left of the device after one set of the workload's tensors and what the candidate holds. The driver's own
// share is not in it: only `total` can be relied on.
void MemoryInfo(size_t* free_bytes, size_t* total_bytes);

// cudaFuncGetParamInfo and its siblings.
int ParameterInfo(const char* function, const void* handle, size_t index, size_t* offset, size_t* size);

// cuFuncGetAttribute and cuKernelGetAttribute; kInvalidValue for an attribute that is not known here.
int FunctionAttribute(const char* function, const void* handle, int attribute, int* value);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_QUERIES_H_
