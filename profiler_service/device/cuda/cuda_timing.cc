// The part of CudaDevice that measures: events, clocks, a cold cache, and launches that begin together.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/cuda/timing_kernels.h"

namespace sassay::device::cuda {
namespace {

// Ticks of the device's wall clock below which a clock is not measured.
constexpr uint64_t kFewestTicks = 200;

}  // namespace

absl::StatusOr<CUevent> CudaDevice::NewEvent() {
  CUevent event = nullptr;
  RETURN_IF_ERROR(driver_.Check(driver_.cuEventCreate(&event, CU_EVENT_DEFAULT), "creating an event"));
  return event;
}

absl::StatusOr<int> CudaDevice::Mark() {
  RETURN_IF_ERROR(Enter());
  if (used_marks_ == marks_.size()) {
    ASSIGN_OR_RETURN(const CUevent event, NewEvent());
    marks_.push_back(event);
  }
  RETURN_IF_ERROR(BeginBusy());
  RETURN_IF_ERROR(Try(driver_.cuEventRecord(marks_[used_marks_], stream_), "recording an event"));
  return static_cast<int>(used_marks_++);
}

absl::StatusOr<double> CudaDevice::NanosecondsBetween(int first_mark, int second_mark) {
  RETURN_IF_ERROR(Enter());
  for (const int mark : {first_mark, second_mark}) {
    if (mark < 0 || static_cast<size_t>(mark) >= used_marks_) {
      return absl::InvalidArgumentError(absl::StrCat("there is no mark ", mark));
    }
  }
  float milliseconds = 0;
  RETURN_IF_ERROR(driver_.Check(driver_.cuEventElapsedTime(&milliseconds, marks_[static_cast<size_t>(first_mark)],
                                                           marks_[static_cast<size_t>(second_mark)]),
                                "reading the time between two events"));
  return static_cast<double>(milliseconds) * 1e6;
}

absl::Status CudaDevice::FlushL2() {
  RETURN_IF_ERROR(Enter());
  if (flush_address_ == 0) {
    int l2_bytes = 0;
    RETURN_IF_ERROR(driver_.Check(driver_.cuDeviceGetAttribute(&l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device_),
                                  "reading the size of the L2 cache"));
    flush_bytes_ = 2 * static_cast<uint64_t>(std::max(l2_bytes, 1 << 20));
    ASSIGN_OR_RETURN(flush_address_, memory_.Allocate(flush_bytes_, "L2 flush"));
  }
  RETURN_IF_ERROR(driver_.Check(driver_.cuCtxResetPersistingL2Cache(), "resetting persisting L2 lines"));
  return Try(driver_.cuMemsetD32Async(flush_address_, ++flush_value_, flush_bytes_ / 4, stream_),
             "flushing the L2 cache");
}

void CudaDevice::ForgetMarks() {
  used_marks_ = 0;
  probes_ = 0;
}

absl::Status CudaDevice::LoadTimingKernels() {
  if (board_ != nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(driver_.Check(driver_.cuModuleLoadDataEx(&timing_module_, kTimingKernelsPtx, 0, nullptr, nullptr),
                                "assembling the timing kernels"));
  RETURN_IF_ERROR(driver_.Check(driver_.cuModuleGetFunction(&hold_function_, timing_module_, kHoldKernelName),
                                "looking for the hold kernel"));
  RETURN_IF_ERROR(driver_.Check(driver_.cuModuleGetFunction(&probe_function_, timing_module_, kProbeKernelName),
                                "looking for the clock kernel"));
  void* memory = nullptr;
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemHostAlloc(&memory, sizeof(TimingBoard), CU_MEMHOSTALLOC_DEVICEMAP),
                                "allocating the timing board"));
  board_ = new (memory) TimingBoard();
  return absl::OkStatus();
}

absl::Status CudaDevice::LaunchOne(CUfunction function, void** arguments, absl::string_view doing) {
  RETURN_IF_ERROR(BeginBusy());
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  return Try(driver_.cuLaunchKernelEx(&config, function, arguments, nullptr), doing);
}

absl::Status CudaDevice::Hold(absl::Duration timeout) {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(LoadTimingKernels());
  const void* board = board_;
  uint32_t ticket = ++tickets_;
  uint64_t timeout_ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(timeout));
  void* arguments[] = {&board, &ticket, &timeout_ns};
  return LaunchOne(hold_function_, arguments, "holding the stream");
}

void CudaDevice::Release() {
  if (board_ != nullptr) board_->released.store(tickets_, std::memory_order_release);
}

bool CudaDevice::HeldTooLong() { return board_ != nullptr && board_->late.exchange(0) != 0; }

absl::Status CudaDevice::ProbeClock() {
  RETURN_IF_ERROR(Enter());
  RETURN_IF_ERROR(LoadTimingKernels());
  const void* probe = &board_->probes[std::min<uint64_t>(probes_++, 1)];
  void* arguments[] = {&probe};
  return LaunchOne(probe_function_, arguments, "reading the SM clock");
}

double CudaDevice::ProbedClockMhz() {
  if (board_ == nullptr || probes_ < 2) return 0;
  const ClockProbe& first = board_->probes[0];
  const ClockProbe& last = board_->probes[1];
  const uint64_t ns = last.time_ns - first.time_ns;
  const uint64_t tick_ns = std::max<uint64_t>(std::max(first.tick_ns, last.tick_ns), 1);
  if (first.multiprocessor != last.multiprocessor || last.time_ns <= first.time_ns || ns / tick_ns < kFewestTicks) {
    return 0;
  }
  return static_cast<double>(last.cycles - first.cycles) * 1e3 / static_cast<double>(ns);
}

}  // namespace sassay::device::cuda
