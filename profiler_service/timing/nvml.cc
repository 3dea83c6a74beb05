#include "profiler_service/timing/nvml.h"

#include <dlfcn.h>

#include <iterator>
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

// nvml.h is not part of every toolkit; these calls have kept their shape since NVML 11.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;

// nvmlFieldValue_t.
struct NvmlField {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int result;
  unsigned long long value;
};
static_assert(sizeof(NvmlField) == 40);

// NVML_FI_DEV_CLOCKS_EVENT_REASON_*: nanoseconds in force since the driver was loaded. NVML counts no time for 0x8 (HW
// slowdown), which is 0x40 or 0x80.
struct ReasonField {
  uint64_t reason;
  unsigned field;
};
constexpr ReasonField kReasonFields[] = {{0x4, 74}, {0x10, 76}, {0x20, 269}, {0x40, 270}, {0x80, 271}};

struct Nvml {
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  // Null where the driver has no such function.
  int (*fields)(NvmlDevice, int, NvmlField*) = nullptr;
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
  Resolve(library, "nvmlDeviceGetFieldValues", nvml.fields);
  const int result = nvml.init();
  if (result != kNvmlSuccess) return absl::UnavailableError(absl::StrCat("nvmlInit: error ", result));
  return nvml;
}

// A counter that this driver or GPU lacks is left out.
std::map<uint64_t, uint64_t> ReadCounters(const Nvml& nvml, NvmlDevice device) {
  std::map<uint64_t, uint64_t> counters;
  NvmlField fields[std::size(kReasonFields)] = {};
  for (size_t i = 0; i < std::size(kReasonFields); ++i) fields[i].field = kReasonFields[i].field;
  if (nvml.fields == nullptr || nvml.fields(device, std::size(kReasonFields), fields) != kNvmlSuccess) return counters;
  for (size_t i = 0; i < std::size(kReasonFields); ++i) {
    if (fields[i].result == kNvmlSuccess) counters[kReasonFields[i].reason] = fields[i].value;
  }
  return counters;
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
  reading.reason_ns = ReadCounters(**nvml, device);
  return reading;
}

}  // namespace

uint64_t ReasonsBetween(const ClockReading& before, const ClockReading& after) {
  uint64_t reasons = before.event_reasons | after.event_reasons;
  for (const auto& [reason, ns] : after.reason_ns) {
    const auto earlier = before.reason_ns.find(reason);
    if (earlier != before.reason_ns.end() && ns != earlier->second) reasons |= reason;
  }
  return reasons;
}

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
  static auto* const mutex = new absl::Mutex;
  static auto* const readers = new std::map<std::string, std::unique_ptr<ClockReader>>;
  ClockReader* reader;
  {
    absl::MutexLock lock(mutex);
    std::unique_ptr<ClockReader>& of_this_gpu = (*readers)[std::string(uuid)];
    if (of_this_gpu == nullptr) of_this_gpu = std::make_unique<ClockReader>(ReadNow);
    reader = of_this_gpu.get();
  }
  return reader->Read(uuid, timeout);
}

}  // namespace sassay::timing
