#include "profiler_service/timing/nvml.h"

#include <dlfcn.h>

#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
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

// Shared with the reading thread, which may outlive the caller.
struct Pending {
  absl::Notification done;
  absl::StatusOr<ClockReading> reading = absl::UnknownError("");
};

absl::Mutex g_mutex(absl::kConstInit);
bool g_stuck ABSL_GUARDED_BY(g_mutex) = false;

}  // namespace

absl::StatusOr<ClockReading> ReadClock(absl::string_view uuid, absl::Duration timeout) {
  {
    absl::MutexLock lock(&g_mutex);
    if (g_stuck) return absl::UnavailableError("NVML hangs since an earlier call");
    g_stuck = true;
  }
  auto pending = std::make_shared<Pending>();
  std::thread([pending, uuid = std::string(uuid)] {
    pending->reading = ReadNow(uuid);
    {
      absl::MutexLock lock(&g_mutex);
      g_stuck = false;
    }
    pending->done.Notify();
  }).detach();
  if (!pending->done.WaitForNotificationWithTimeout(timeout)) {
    return absl::DeadlineExceededError(absl::StrCat("NVML did not answer within ", absl::FormatDuration(timeout)));
  }
  return pending->reading;
}

}  // namespace sassay::timing
