#include "profiler_service/device/cuda/cuda_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/device/cuda/fault.h"
#include "profiler_service/device/cuda/poison_kernel.h"
#include "profiler_service/device/poison.h"

namespace sassay::device::cuda {
namespace {

constexpr absl::Duration kTransferTimeout = absl::Seconds(60);
constexpr uint64_t kStagingBytes = 64 << 10;
constexpr uint32_t kPoisonBlocks = 1024;
constexpr uint32_t kPoisonThreads = 256;

std::string UuidText(const CUuuid& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// The "a" targets hold what is specific to Hopper and Blackwell, and candidates are compiled for them.
std::string ArchName(int major, int minor) { return absl::StrCat("sm_", major, minor, major >= 9 ? "a" : ""); }

// What may differ between models of one architecture and decides how host code shapes its launches. Bus numbers, clocks
// and the like are left out: no plan is wrong because of them.
constexpr std::pair<const char*, CUdevice_attribute> kShapingAttributes[] = {
    {"cudaDevAttrL2CacheSize", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    {"cudaDevAttrMaxPersistingL2CacheSize", CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE},
    {"cudaDevAttrMaxThreadsPerMultiProcessor", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
    {"cudaDevAttrMaxBlocksPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
    {"cudaDevAttrMaxRegistersPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
    {"cudaDevAttrMaxSharedMemoryPerMultiprocessor", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
    {"cudaDevAttrMaxSharedMemoryPerBlockOptin", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
    {"cudaDevAttrReservedSharedMemoryPerBlock", CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
    {"cudaDevAttrGlobalMemoryBusWidth", CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
    {"cudaDevAttrCooperativeLaunch", CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH},
};

// An attribute that this driver does not know is not known.
std::map<std::string, int64_t> ShapingAttributes(const Driver& driver, CUdevice device) {
  std::map<std::string, int64_t> attributes;
  for (const auto& [name, attribute] : kShapingAttributes) {
    int value = 0;
    if (driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS) attributes.emplace(name, value);
  }
  return attributes;
}

absl::StatusOr<DeviceInfo> Inspect(const Driver& driver, CUdevice device) {
  DeviceInfo info;
  info.kind = "cuda";
  char name[256] = {};
  CUuuid uuid{};
  size_t bytes = 0;
  int major = 0, minor = 0, multiprocessors = 0;
  RETURN_IF_ERROR(driver.Check(driver.cuDeviceGetName(name, sizeof(name) - 1, device), "reading the GPU's name"));
  RETURN_IF_ERROR(driver.Check(driver.cuDeviceGetUuid(&uuid, device), "reading the GPU's UUID"));
  RETURN_IF_ERROR(driver.Check(driver.cuDeviceTotalMem(&bytes, device), "reading the GPU's memory size"));
  for (const auto& [attribute, value] : {std::pair(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major),
                                         std::pair(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor),
                                         std::pair(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors)}) {
    RETURN_IF_ERROR(driver.Check(driver.cuDeviceGetAttribute(value, attribute, device), "reading a GPU attribute"));
  }
  info.model = name;
  info.uuid = UuidText(uuid);
  info.arch = ArchName(major, minor);
  info.driver_version = DisplayDriverVersion();
  info.multiprocessors = static_cast<uint32_t>(multiprocessors);
  info.memory_bytes = bytes;
  info.attributes = ShapingAttributes(driver, device);
  int clock_khz = 0;
  if (driver.cuDeviceGetAttribute(&clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device) == CUDA_SUCCESS) {
    info.max_sm_clock_mhz = static_cast<uint32_t>(clock_khz / 1000);
  }
  return info;
}

absl::StatusOr<CUdevice> Locate(const Driver& driver, absl::string_view which) {
  int count = 0;
  RETURN_IF_ERROR(driver.Check(driver.cuDeviceGetCount(&count), "counting GPUs"));
  int index = -1;
  const bool by_index = absl::SimpleAtoi(which, &index);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    RETURN_IF_ERROR(driver.Check(driver.cuDeviceGet(&device, i), absl::StrCat("opening GPU ", i)));
    CUuuid uuid{};
    RETURN_IF_ERROR(driver.Check(driver.cuDeviceGetUuid(&uuid, device), "reading the GPU's UUID"));
    if (by_index ? i == index : UuidText(uuid) == which) return device;
  }
  return absl::UnavailableError(absl::StrCat("no GPU \"", which, "\"; the driver shows ", count, " GPU(s)"));
}

CUresult EnqueueFill(const Driver& driver, CUdeviceptr to, uint32_t value, uint32_t element_bytes, uint64_t count,
                     CUstream stream) {
  if (element_bytes == 1) return driver.cuMemsetD8Async(to, static_cast<unsigned char>(value), count, stream);
  if (element_bytes == 2) return driver.cuMemsetD16Async(to, static_cast<unsigned short>(value), count, stream);
  return driver.cuMemsetD32Async(to, value, count, stream);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::Open(absl::string_view which, sassay::worker::RunMode mode) {
  absl::StatusOr<std::unique_ptr<SassCounter>> counter = NoCounter();
  if (mode == sassay::worker::RUN_MODE_COUNTED) counter = OpenSassCounter();
  ASSIGN_OR_RETURN(const Driver* driver, Driver::Get());
  return OpenWith(*driver, which, std::move(counter));
}

absl::StatusOr<std::unique_ptr<Device>> CudaDevice::OpenWith(const Driver& driver, absl::string_view which,
                                                             absl::StatusOr<std::unique_ptr<SassCounter>> counter) {
  ASSIGN_OR_RETURN(const CUdevice device, Locate(driver, which));
  ASSIGN_OR_RETURN(DeviceInfo info, Inspect(driver, device));
  std::unique_ptr<CudaDevice> opened(new CudaDevice(driver, device, std::move(info)));
  RETURN_IF_ERROR(opened->Start());
  opened->AttachCounter(std::move(counter));
  return std::unique_ptr<Device>(std::move(opened));
}

absl::Status CudaDevice::Start() {
  RETURN_IF_ERROR(driver_.Check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "creating a context"));
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(driver_.Check(driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream"));
  for (CUevent* event : {&busy_begin_, &busy_end_}) {
    RETURN_IF_ERROR(driver_.Check(driver_.cuEventCreate(event, CU_EVENT_DEFAULT), "creating an event"));
  }
  // Where the driver cannot assemble PTX, Poison falls back to the host.
  if (driver_.cuModuleLoadDataEx(&poison_module_, kPoisonKernelPtx, 0, nullptr, nullptr) == CUDA_SUCCESS) {
    driver_.cuModuleGetFunction(&poison_function_, poison_module_, kPoisonKernelName);
  }
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  if (abandoned_ || context_ == nullptr) return;
  driver_.cuCtxSetCurrent(context_);
  if (counter_ != nullptr) counter_->Finish().IgnoreError();
  FreeStaging();
  driver_.cuDevicePrimaryCtxRelease(device_);
}

absl::Status CudaDevice::Enter() {
  if (abandoned_) {
    return absl::FailedPreconditionError("the context was given up after a fault or a timeout; start a fresh runner");
  }
  return Try(driver_.cuCtxSetCurrent(context_), "making the context current");
}

bool CudaDevice::usable() {
  if (abandoned_ || fault_ != CUDA_SUCCESS) return false;
  if (driver_.cuCtxSetCurrent(context_) != CUDA_SUCCESS) return false;
  const CUresult result = driver_.cuStreamQuery(stream_);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY;
}

CUresult CudaDevice::Poll(absl::Time deadline) {
  const absl::Time spin_until = SteadyNow() + spin_;
  absl::Duration nap = absl::Microseconds(20);
  for (;;) {
    const CUresult result = driver_.cuStreamQuery(stream_);
    // The device's printf is handed out by a synchronization only; after a successful query it does not wait.
    if (result == CUDA_SUCCESS) return driver_.cuStreamSynchronize(stream_);
    if (result != CUDA_ERROR_NOT_READY) return result;
    const absl::Time now = SteadyNow();
    if (now >= deadline) return CUDA_ERROR_NOT_READY;
    if (now < spin_until) continue;
    absl::SleepFor(std::min(nap, deadline - now));
    nap = std::min(nap * 2, absl::Milliseconds(1));
  }
}

absl::Status CudaDevice::WaitIdle(absl::string_view doing) {
  const CUresult result = Poll(SteadyNow() + kTransferTimeout);
  if (result != CUDA_SUCCESS) abandoned_ = true;
  if (result == CUDA_ERROR_NOT_READY) {
    return absl::DeadlineExceededError(
        absl::StrCat(doing, ": the GPU did not finish within ", absl::FormatDuration(kTransferTimeout)));
  }
  return driver_.Check(result, doing);
}

absl::Status CudaDevice::Try(CUresult result, absl::string_view doing) {
  if (!IsKernelFault(result)) return driver_.Check(result, doing);
  fault_ = result;
  return absl::OkStatus();
}

absl::Status CudaDevice::Settle() {
  if (pending_) return absl::OkStatus();
  RETURN_IF_ERROR(WaitIdle("a transfer"));
  DropStaging();
  return absl::OkStatus();
}

absl::StatusOr<DeviceAddress> CudaDevice::Allocate(uint64_t size_bytes, absl::string_view label) {
  RETURN_IF_ERROR(Enter());
  return memory_.Allocate(size_bytes, label);
}

absl::Status CudaDevice::Free(DeviceAddress address) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(WaitIdle("freeing memory"));
  return memory_.Free(address);
}

absl::StatusOr<SharedMemory> CudaDevice::AllocateShared(uint64_t size_bytes) {
  RETURN_IF_ERROR(Enter());
  return memory_.AllocateShared(size_bytes);
}

absl::StatusOr<DeviceAddress> CudaDevice::MapShared(int fd, uint64_t object_bytes) {
  RETURN_IF_ERROR(Enter());
  return memory_.MapShared(fd, object_bytes);
}

absl::StatusOr<char*> CudaDevice::Stage(absl::Span<const char> bytes) {
  auto chunk = std::find_if(staging_.begin(), staging_.end(), [&](const Staging& candidate) {
    return candidate.size_bytes - candidate.used_bytes >= bytes.size();
  });
  if (chunk == staging_.end()) {
    void* memory = nullptr;
    const uint64_t size = std::max<uint64_t>(bytes.size(), kStagingBytes);
    RETURN_IF_ERROR(driver_.Check(driver_.cuMemHostAlloc(&memory, size, 0),
                                  absl::StrCat("allocating ", size, " bytes of pinned memory")));
    chunk = staging_.insert(staging_.end(), Staging{static_cast<char*>(memory), size, 0});
  }
  char* const to = chunk->memory + chunk->used_bytes;
  std::copy(bytes.begin(), bytes.end(), to);
  chunk->used_bytes += bytes.size();
  return to;
}

void CudaDevice::DropStaging() {
  for (Staging& chunk : staging_) chunk.used_bytes = 0;
}

void CudaDevice::FreeStaging() {
  for (const Staging& chunk : staging_) driver_.cuMemFreeHost(chunk.memory);
  staging_.clear();
}

absl::Status CudaDevice::Write(DeviceAddress destination, absl::Span<const char> bytes) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(memory_.CheckRange(destination, bytes.size()));
  if (bytes.empty()) return absl::OkStatus();
  const char* source = bytes.data();
  if (pending_) {
    ASSIGN_OR_RETURN(source, Stage(bytes));
  }
  RETURN_IF_ERROR(Try(driver_.cuMemcpyHtoDAsync(destination, source, bytes.size(), stream_),
                      absl::StrCat("writing ", bytes.size(), " bytes")));
  return Settle();
}

absl::Status CudaDevice::Read(absl::Span<char> bytes, DeviceAddress source) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(memory_.CheckRange(source, bytes.size()));
  if (bytes.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(WaitIdle("reading"));
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemcpyDtoHAsync(bytes.data(), source, bytes.size(), stream_),
                                absl::StrCat("reading ", bytes.size(), " bytes")));
  return WaitIdle("reading");
}

absl::Status CudaDevice::Copy(DeviceAddress destination, DeviceAddress source, uint64_t size_bytes) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(memory_.CheckRange(destination, size_bytes));
  RETURN_IF_ERROR(memory_.CheckRange(source, size_bytes));
  if (size_bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Try(driver_.cuMemcpyDtoDAsync(destination, source, size_bytes, stream_),
                      absl::StrCat("copying ", size_bytes, " bytes")));
  return Settle();
}

absl::Status CudaDevice::Fill(DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) {
  RETURN_IF_ERROR(Enter());
  if ((element_bytes != 1 && element_bytes != 2 && element_bytes != 4) || destination % element_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("expected elements of 1, 2 or 4 bytes at an aligned address, got ",
                                                   element_bytes, " bytes at 0x", absl::Hex(destination)));
  }
  if (count > info_.memory_bytes) return absl::InvalidArgumentError("a fill is larger than the GPU's memory");
  RETURN_IF_ERROR(memory_.CheckRange(destination, count * element_bytes));
  if (count == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Try(EnqueueFill(driver_, destination, value, element_bytes, count, stream_),
                      absl::StrCat("filling ", count, " elements")));
  return Settle();
}

absl::Status CudaDevice::PoisonWords(DeviceAddress destination, uint64_t words, uint64_t seed) {
  CUdeviceptr to = destination;
  void* arguments[] = {&to, &words, &seed};
  CUlaunchConfig config{};
  config.gridDimX =
      static_cast<unsigned>(std::min<uint64_t>((words + kPoisonThreads - 1) / kPoisonThreads, kPoisonBlocks));
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kPoisonThreads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  return Try(driver_.cuLaunchKernelEx(&config, poison_function_, arguments, nullptr), "poisoning memory");
}

absl::Status CudaDevice::Poison(DeviceAddress destination, uint64_t size_bytes, uint64_t seed) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(memory_.CheckRange(destination, size_bytes));
  const bool on_gpu = poison_function_ != nullptr && destination % 8 == 0;
  const uint64_t words = on_gpu ? size_bytes / 8 : 0;
  if (words > 0) RETURN_IF_ERROR(PoisonWords(destination, words, seed));
  std::string rest(size_bytes - words * 8, '\0');
  FillPoison(absl::MakeSpan(rest.data(), rest.size()), seed, words * 8);
  RETURN_IF_ERROR(Write(destination + words * 8, rest));
  return Settle();
}

void CudaDevice::AttachCounter(absl::StatusOr<std::unique_ptr<SassCounter>> counter) {
  if (!counter.ok()) return NoteCounting(counter.status());
  counter_ = *std::move(counter);
  NoteCounting(counter_->Attach(context_, static_cast<uint32_t>(device_)));
}

void CudaDevice::NoteCounting(const absl::Status& status) {
  if (status.ok()) return;
  counting_trouble_ = std::string(status.message());
  counting_ = false;
  counter_ = nullptr;
}

absl::StatusOr<sassay::v1::Evidence> CudaDevice::CollectEvidence() {
  return absl::UnimplementedError("a GPU runs SASS: ask for its counts");
}

absl::StatusOr<bool> CudaDevice::CountLaunches() { return counting_ = counter_ != nullptr; }

absl::StatusOr<sassay::worker::SassCounts> CudaDevice::CollectSassCounts() {
  RETURN_IF_ERROR(Enter());
  sassay::worker::SassCounts counts;
  if (counting_) {
    absl::StatusOr<sassay::worker::SassCounts> finished = counter_->Finish();
    NoteCounting(finished.ok() ? absl::OkStatus() : finished.status());
    if (finished.ok()) counts = *std::move(finished);
    counting_ = false;
    counter_ = nullptr;
  }
  counts.set_cubin_crc(cubin_crc_);
  counts.set_unavailable(counting_trouble_);
  return counts;
}

}  // namespace sassay::device::cuda
