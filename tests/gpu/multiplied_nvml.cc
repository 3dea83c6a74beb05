// For measurements alone: libnvidia-ml.so.1 that shows each real GPU as several. Every question about a copy is a call
// of the real library about the real GPU, so that one H200 costs the monitor what eight would.
//
//   SASSAY_MULTIPLIED_NVML=8           GPUs in all [8]
//   SASSAY_MULTIPLIED_UUIDS=a,b,…      their UUIDs, those of the copies otherwise made from the real ones
//   SASSAY_REAL_NVML=FILE              the real library, where it lies in none of the usual places
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kFunctionNotFound = 13;

struct Copy {
  void* real;
  std::string uuid;
};

// Of the head of nvmlEventData_t.
struct EventHead {
  void* device;
};

std::string Environment(const char* name, const char* missing) {
  const char* value = std::getenv(name);
  return value == nullptr ? missing : value;
}

void* OpenReal() {
  for (const std::string& file :
       {Environment("SASSAY_REAL_NVML", ""), std::string("/usr/local/nvidia/lib64/libnvidia-ml.so.1"),
        std::string("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"), std::string("/usr/lib64/libnvidia-ml.so.1")}) {
    if (file.empty()) continue;
    if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  std::fprintf(stderr, "multiplied_nvml: no real libnvidia-ml.so.1: set SASSAY_REAL_NVML\n");
  return nullptr;
}

void* Real(const char* function) {
  static void* const library = OpenReal();
  return library == nullptr ? nullptr : dlsym(library, function);
}

template <typename... Arguments>
int Call(const char* function, Arguments... arguments) {
  const auto real = reinterpret_cast<int (*)(Arguments...)>(Real(function));
  return real == nullptr ? kFunctionNotFound : real(arguments...);
}

// The same question about the real GPU.
template <typename... Arguments>
int Ask(const char* function, void* device, Arguments... arguments) {
  return Call(function, static_cast<Copy*>(device)->real, arguments...);
}

std::vector<Copy>& Copies() {
  static std::vector<Copy>& copies = *new std::vector<Copy>;
  return copies;
}

std::vector<std::string> GivenUuids() {
  std::vector<std::string> uuids;
  std::istringstream text(Environment("SASSAY_MULTIPLIED_UUIDS", ""));
  for (std::string uuid; std::getline(text, uuid, ',');) uuids.push_back(uuid);
  return uuids;
}

// The last two digits of a copy's UUID are its number.
std::string UuidOf(void* real, unsigned round, size_t index) {
  static const std::vector<std::string> given = GivenUuids();
  if (index < given.size()) return given[index];
  char uuid[96] = "";
  Call("nvmlDeviceGetUUID", real, &uuid[0], static_cast<unsigned>(sizeof(uuid)));
  std::string text = uuid;
  if (round == 0 || text.size() < 2) return text;
  char digits[3];
  std::snprintf(digits, sizeof(digits), "%02x", round & 0xff);
  return text.replace(text.size() - 2, 2, digits);
}

int Multiply() {
  std::vector<Copy>& copies = Copies();
  if (!copies.empty()) return kSuccess;
  unsigned real_ones = 0;
  const int counted = Call("nvmlDeviceGetCount_v2", &real_ones);
  if (counted != kSuccess || real_ones == 0) return counted;
  const size_t wanted = std::strtoul(Environment("SASSAY_MULTIPLIED_NVML", "8").c_str(), nullptr, 10);
  copies.reserve(wanted);
  while (copies.size() < wanted) {
    const auto index = static_cast<unsigned>(copies.size());
    void* real = nullptr;
    const int found = Call("nvmlDeviceGetHandleByIndex_v2", index % real_ones, &real);
    if (found != kSuccess) return found;
    copies.push_back({real, UuidOf(real, index / real_ones, index)});
  }
  return kSuccess;
}

}  // namespace

EXPORT int nvmlInit_v2() {
  const int started = Call("nvmlInit_v2");
  return started == kSuccess ? Multiply() : started;
}

EXPORT const char* nvmlErrorString(int result) {
  const auto real = reinterpret_cast<const char* (*)(int)>(Real("nvmlErrorString"));
  return real == nullptr ? "no NVML" : real(result);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Copies().size());
  return Copies().empty() ? kUninitialized : kSuccess;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= Copies().size()) return kInvalidArgument;
  *device = &Copies()[index];
  return kSuccess;
}

EXPORT int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  const std::string& text = static_cast<Copy*>(device)->uuid;
  if (text.size() >= size) return kInvalidArgument;
  std::memcpy(uuid, text.c_str(), text.size() + 1);
  return kSuccess;
}

EXPORT int nvmlEventSetWait_v2(void* set, EventHead* event, unsigned timeout_ms) {
  const int waited = Call("nvmlEventSetWait_v2", set, event, timeout_ms);
  if (waited != kSuccess) return waited;
  for (Copy& copy : Copies()) {
    if (copy.real != event->device) continue;
    event->device = &copy;
    break;
  }
  return kSuccess;
}

EXPORT int nvmlEventSetCreate(void** set) { return Call("nvmlEventSetCreate", set); }
EXPORT int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  return Ask("nvmlDeviceRegisterEvents", device, types, set);
}
EXPORT int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  return Ask("nvmlDeviceGetName", device, name, size);
}
EXPORT int nvmlDeviceGetPciInfo_v3(void* device, void* pci) { return Ask("nvmlDeviceGetPciInfo_v3", device, pci); }
EXPORT int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* mhz) {
  return Ask("nvmlDeviceGetClockInfo", device, kind, mhz);
}
EXPORT int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  return Ask("nvmlDeviceGetTemperature", device, sensor, celsius);
}
EXPORT int nvmlDeviceGetMarginTemperature(void* device, void* margin) {
  return Ask("nvmlDeviceGetMarginTemperature", device, margin);
}
EXPORT int nvmlDeviceGetTemperatureThreshold(void* device, int which, unsigned* celsius) {
  return Ask("nvmlDeviceGetTemperatureThreshold", device, which, celsius);
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  return Ask("nvmlDeviceGetCurrentClocksEventReasons", device, reasons);
}
EXPORT int nvmlDeviceGetFieldValues(void* device, int count, void* fields) {
  return Ask("nvmlDeviceGetFieldValues", device, count, fields);
}
EXPORT int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return Ask("nvmlDeviceGetPowerUsage", device, milliwatts);
}
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return Ask("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts);
}
EXPORT int nvmlDeviceGetTotalEccErrors(void* device, int kind, int since, unsigned long long* count) {
  return Ask("nvmlDeviceGetTotalEccErrors", device, kind, since, count);
}
EXPORT int nvmlDeviceGetRemappedRows(void* device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                                     unsigned* failed) {
  return Ask("nvmlDeviceGetRemappedRows", device, correctable, uncorrectable, pending, failed);
}
EXPORT int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
  return Ask("nvmlDeviceGetPcieReplayCounter", device, count);
}
EXPORT int nvmlDeviceGetUtilizationRates(void* device, void* rates) {
  return Ask("nvmlDeviceGetUtilizationRates", device, rates);
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* processes) {
  return Ask("nvmlDeviceGetComputeRunningProcesses_v3", device, count, processes);
}
