// The real device: one context on one NVIDIA GPU through the driver API.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUDA_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUDA_DEVICE_H_

#include <cuda.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/device/cuda/cupti/sass_counter.h"
#include "profiler_service/device/cuda/driver.h"
#include "profiler_service/device/cuda/memory.h"
#include "profiler_service/device/device.h"

namespace sassay::device::cuda {

// Device on the driver API. One stream; everything is enqueued on it in the order of the calls.
//
// Blocking: nothing here waits for a kernel longer than the deadline of Synchronize. While launches are pending, Write,
// Copy, Fill and Poison are only enqueued (Write from pinned staging memory); with nothing pending they have finished
// when they return. Free and Read need an idle device and wait for at most kTransferTimeout. After a fault or a timeout
// the context is abandoned: every later call fails and destruction frees nothing, because every driver call could block
// behind a hung kernel. The process has to end then. While a fault waits to be told by Synchronize, other calls may
// fail with a Status of their own: whoever meets one asks Synchronize what it was (runner/replay.cc does).
class CudaDevice : public Device {
 public:
  // `which` is an index in PCI order ("0") or a UUID ("GPU-…").
  static absl::StatusOr<std::unique_ptr<Device>> Open(absl::string_view which, sassay::worker::RunMode mode);
  // On a driver of the caller's, which outlives the device: how tests make a GPU fail. `counter`: what counts, or why
  // nothing does.
  static absl::StatusOr<std::unique_ptr<Device>> OpenWith(
      const Driver& driver, absl::string_view which,
      absl::StatusOr<std::unique_ptr<SassCounter>> counter = NoCounter());
  static absl::Status NoCounter() { return absl::UnavailableError("this device was not opened for counting"); }
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  // Also false after a fault of work that did not come through here, a library's for instance.
  bool usable() override;

  absl::StatusOr<DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label) override;
  absl::Status Free(DeviceAddress address) override;
  absl::StatusOr<SharedMemory> AllocateShared(uint64_t size_bytes) override;
  absl::StatusOr<DeviceAddress> MapShared(int fd, uint64_t object_bytes) override;

  absl::Status Write(DeviceAddress destination, absl::Span<const char> bytes) override;
  absl::Status Read(absl::Span<char> bytes, DeviceAddress source) override;
  absl::Status Copy(DeviceAddress destination, DeviceAddress source, uint64_t size_bytes) override;
  absl::Status Fill(DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) override;
  absl::Status Poison(DeviceAddress destination, uint64_t size_bytes, uint64_t seed) override;

  absl::Status LoadModule(const sassay::v1::Bundle& bundle) override;
  absl::StatusOr<SymbolRegion> Symbol(absl::string_view name) override;
  absl::StatusOr<std::array<char, 128>> EncodeTensorMap(const sassay::v1::TensorMap& map, DeviceAddress base) override;

  absl::Status Enqueue(const Launch& launch) override;
  absl::StatusOr<Execution> Synchronize(absl::Time deadline) override;

  // UNIMPLEMENTED: a GPU runs SASS.
  absl::StatusOr<sassay::v1::Evidence> CollectEvidence() override;
  absl::StatusOr<bool> CountLaunches() override;
  absl::StatusOr<sassay::worker::SassCounts> CollectSassCounts() override;

  absl::StatusOr<int> Mark() override;
  absl::StatusOr<double> NanosecondsBetween(int first_mark, int second_mark) override;
  void ForgetMarks() override;
  absl::Status FlushL2() override;
  absl::Status Hold(absl::Duration timeout) override;
  void Release() override;
  bool HeldTooLong() override;
  absl::Status ProbeClock() override;
  double ProbedClockMhz() override;
  void SpinFor(absl::Duration duration) override { spin_ = duration; }
  void* stream() override { return stream_; }

 private:
  struct Kernel {
    CUfunction function = nullptr;
    std::vector<size_t> parameter_bytes;
    uint32_t dynamic_shared_limit = 0;
  };

  CudaDevice(const Driver& driver, CUdevice device, DeviceInfo info)
      : driver_(driver), device_(device), info_(std::move(info)), memory_(driver, device) {}

  absl::Status Start();
  void AttachCounter(absl::StatusOr<std::unique_ptr<SassCounter>> counter);
  // Counting ends with the first trouble; the run goes on without it.
  void NoteCounting(const absl::Status& status);
  absl::Status Enter();
  // Waits unless launches are pending.
  absl::Status Settle();
  absl::Status WaitIdle(absl::string_view doing);
  // Like Driver::Check, but keeps a fault of an earlier kernel for Synchronize, whose business it is.
  absl::Status Try(CUresult result, absl::string_view doing);
  CUresult Poll(absl::Time deadline);
  absl::StatusOr<char*> Stage(absl::Span<const char> bytes);
  void DropStaging();
  void FreeStaging();
  absl::Status LoadTimingKernels();
  absl::Status LaunchOne(CUfunction function, void** arguments, absl::string_view doing);
  absl::Status PoisonWords(DeviceAddress destination, uint64_t words, uint64_t seed);
  absl::StatusOr<Kernel*> FindKernel(const std::string& name);
  absl::Status Prepare(Kernel& kernel, const Launch& launch);
  absl::StatusOr<CUevent> NewEvent();
  absl::Status BeginBusy();
  uint64_t BusyNanoseconds();

  const Driver& driver_;
  const CUdevice device_;
  DeviceInfo info_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  Memory memory_;
  CUmodule module_ = nullptr;
  CUmodule poison_module_ = nullptr;
  CUfunction poison_function_ = nullptr;
  std::map<std::string, Kernel> kernels_;
  // Events; the first `used_marks_` of them are in use.
  std::vector<CUevent> marks_;
  size_t used_marks_ = 0;
  CUevent busy_begin_ = nullptr;
  CUevent busy_end_ = nullptr;
  // Pinned memory for writes behind launches. Kept: allocating may wait for the device.
  struct Staging {
    char* memory;
    uint64_t size_bytes;
    uint64_t used_bytes;
  };
  std::vector<Staging> staging_;
  // What timing_kernels.h needs; null until it is first used.
  CUmodule timing_module_ = nullptr;
  CUfunction hold_function_ = nullptr;
  CUfunction probe_function_ = nullptr;
  struct TimingBoard* board_ = nullptr;
  uint32_t tickets_ = 0;
  uint64_t probes_ = 0;
  absl::Duration spin_ = absl::Microseconds(300);
  DeviceAddress flush_address_ = 0;
  uint64_t flush_bytes_ = 0;
  uint32_t flush_value_ = 0;
  std::string last_kernel_;
  // Null where nothing is counted (any more), which `counting_trouble_` explains.
  std::unique_ptr<SassCounter> counter_;
  std::string counting_trouble_;
  uint64_t cubin_crc_ = 0;
  bool counting_ = false;
  // Work of the candidate has been enqueued since the last Synchronize.
  bool pending_ = false;
  // A fault that came out of a call other than Synchronize; reported there.
  CUresult fault_ = CUDA_SUCCESS;
  bool abandoned_ = false;
};

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUDA_DEVICE_H_
