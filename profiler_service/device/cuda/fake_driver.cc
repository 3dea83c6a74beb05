#include "profiler_service/device/cuda/fake_driver.h"

#include <cstdlib>
#include <cstring>

namespace sassay::device::cuda {
namespace {

CUresult ResultOf(const char* name) {
  const auto found = FakeState().results.find(name);
  return found == FakeState().results.end() ? FakeState().sticky : found->second;
}

// One function for each name, so that each can fail on its own.
template <const char* kName, typename... Args>
CUresult Answer(Args...) {
  return ResultOf(kName);
}

template <const char* kName, typename... Args>
void Install(CUresult (*&function)(Args...)) {
  function = &Answer<kName, Args...>;
}

#define SASSAY_FAKE_NAME(name) constexpr char kName_##name[] = #name;
SASSAY_CUDA_FUNCTIONS(SASSAY_FAKE_NAME)
#undef SASSAY_FAKE_NAME

int g_faulting = 0, g_refused = 0, g_honest = 0;  // stand for kernels

CUresult AddressOf(const char* name, CUdeviceptr* address) {
  *address = FakeState().next_address += CUdeviceptr{1} << 32;
  return ResultOf(name);
}

void InstallWhatAnswers(Driver& driver) {
  driver.cuDeviceGetCount = [](int* count) { return *count = 1, ResultOf("cuDeviceGetCount"); };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
    return *value = 1, ResultOf("cuDeviceGetAttribute");
  };
  driver.cuDeviceTotalMem = [](size_t* bytes, CUdevice) {
    return *bytes = size_t{1} << 40, ResultOf("cuDeviceTotalMem");
  };
  driver.cuMemAlloc = [](CUdeviceptr* address, size_t) { return AddressOf("cuMemAlloc", address); };
  driver.cuMemHostAlloc = [](void** memory, size_t bytes, unsigned) {
    const CUresult result = ResultOf("cuMemHostAlloc");
    *memory = result == CUDA_SUCCESS ? std::malloc(bytes) : nullptr;
    return result;
  };
  driver.cuMemFreeHost = [](void* memory) { return std::free(memory), ResultOf("cuMemFreeHost"); };
  driver.cuModuleLoadDataEx = [](CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
    *module = reinterpret_cast<CUmodule>(&g_honest);
    return ResultOf("cuModuleLoadDataEx");
  };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char* name) {
    int* const kernel = std::strcmp(name, "faults") == 0    ? &g_faulting
                        : std::strcmp(name, "refused") == 0 ? &g_refused
                                                            : &g_honest;
    *function = reinterpret_cast<CUfunction>(kernel);
    return ResultOf("cuModuleGetFunction");
  };
  driver.cuFuncGetParamInfo = [](CUfunction, size_t, size_t*, size_t*) { return CUDA_ERROR_INVALID_VALUE; };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction function, void**, void**) {
    const CUresult result = ResultOf("cuLaunchKernelEx");
    if (function == reinterpret_cast<CUfunction>(&g_refused)) return CUDA_ERROR_INVALID_VALUE;
    if (function == reinterpret_cast<CUfunction>(&g_faulting)) FakeState().sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    return result;
  };
  // Tells the time also after a fault, as the real ones do.
  driver.cuGetErrorName = [](CUresult, const char** name) { return *name = "CUDA_ERROR_FAKE", CUDA_SUCCESS; };
  driver.cuGetErrorString = [](CUresult, const char** text) { return *text = "as the test wants it", CUDA_SUCCESS; };
}

}  // namespace

FakeDriverState& FakeState() {
  static auto* const state = new FakeDriverState;
  return *state;
}

Driver FakeDriver() {
  FakeState() = FakeDriverState();
  Driver driver;
#define SASSAY_FAKE_INSTALL(name) Install<kName_##name>(driver.name);
  SASSAY_CUDA_FUNCTIONS(SASSAY_FAKE_INSTALL)
#undef SASSAY_FAKE_INSTALL
  InstallWhatAnswers(driver);
  return driver;
}

}  // namespace sassay::device::cuda
