#include "profiler_service/timing/nvml.h"

#include <dlfcn.h>

#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "common/base/status_macros.h"

namespace sassay::timing {
namespace {

// nvml.h is not part of every toolkit; these four calls have kept their shape since NVML 11.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;

struct Nvml {
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
};

template <typename Function>
bool Resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

absl::StatusOr<Nvml> Load() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(absl::StrCat("no NVML: ", dlerror()));
  Nvml nvml;
  const bool complete = Resolve(library, "nvmlInit_v2", nvml.init) &&
                        Resolve(library, "nvmlDeviceGetHandleByUUID", nvml.by_uuid) &&
                        Resolve(library, "nvmlDeviceGetClockInfo", nvml.clock) &&
                        (Resolve(library, "nvmlDeviceGetCurrentClocksEventReasons", nvml.reasons) ||
                         Resolve(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.reasons));
  if (!complete) return absl::UnavailableError("libnvidia-ml.so.1 lacks a function; install a newer driver");
  const int result = nvml.init();
  if (result != kNvmlSuccess) return absl::UnavailableError(absl::StrCat("nvmlInit: error ", result));
  return nvml;
}

absl::StatusOr<ClockReading> ReadNow(const std::string& uuid) {
  static const absl::StatusOr<Nvml>* const nvml = new absl::StatusOr<Nvml>(Load());
  RETURN_IF_ERROR(nvml->status());
  NvmlDevice device = nullptr;
  ClockReading reading;
  unsigned clock = 0;
  unsigned long long reasons = 0;
  int result = (*nvml)->by_uuid(uuid.c_str(), &device);
  if (result == kNvmlSuccess) result = (*nvml)->clock(device, kNvmlClockSm, &clock);
  if (result == kNvmlSuccess) result = (*nvml)->reasons(device, &reasons);
  if (result != kNvmlSuccess) return absl::UnavailableError(absl::StrCat("NVML: error ", result, " for ", uuid));
  reading.sm_clock_mhz = clock;
  reading.event_reasons = reasons;
  return reading;
}

}  // namespace

// What callers and reading threads share.
struct ClockReader::Shared {
  explicit Shared(ClockFunction function) : read(std::move(function)) {}
  const ClockFunction read;
  absl::Mutex mutex;
  bool busy ABSL_GUARDED_BY(mutex) = false;   // a call is under way
  bool stuck ABSL_GUARDED_BY(mutex) = false;  // and somebody has given it up
  absl::optional<absl::StatusOr<ClockReading>> answer ABSL_GUARDED_BY(mutex);
};

ClockReader::ClockReader(ClockFunction read) : shared_(std::make_shared<Shared>(std::move(read))) {}

absl::StatusOr<ClockReading> ClockReader::Read(absl::string_view uuid, absl::Duration timeout) {
  const std::shared_ptr<Shared> shared = shared_;
  absl::MutexLock lock(&shared->mutex);
  const auto my_turn = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !shared->busy || shared->stuck; };
  const auto answered = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shared->answer.has_value(); };
  shared->mutex.Await(absl::Condition(&my_turn));
  if (shared->stuck) return absl::UnavailableError("NVML hangs since an earlier call");
  shared->busy = true;
  std::thread([shared, uuid = std::string(uuid)] {
    absl::StatusOr<ClockReading> reading = shared->read(uuid);
    absl::MutexLock lock(&shared->mutex);
    if (shared->stuck) {
      shared->busy = shared->stuck = false;  // nobody waits for it any more
    } else {
      shared->answer = std::move(reading);
    }
  }).detach();
  if (!shared->mutex.AwaitWithTimeout(absl::Condition(&answered), timeout)) {
    shared->stuck = true;
    return absl::DeadlineExceededError(absl::StrCat("NVML did not answer within ", absl::FormatDuration(timeout)));
  }
  absl::StatusOr<ClockReading> reading = *std::move(shared->answer);
  shared->answer.reset();
  shared->busy = false;
  return reading;
}

absl::StatusOr<ClockReading> ReadClock(absl::string_view uuid, absl::Duration timeout) {
  static auto* const reader = new ClockReader(ReadNow);
  return reader->Read(uuid, timeout);
}

}  // namespace sassay::timing
