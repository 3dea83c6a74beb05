// NVML as this program needs it: a table of functions from libnvidia-ml.so.1, found at run time.
//
// Why: the monitor starts where there is no driver, and old drivers lack functions. nvml.h is not part of every
// toolkit; shapes and numbers here are those of CUDA 13's, which have not changed since NVML 11 except where a size is
// versioned.
#ifndef SASSAY_MONITOR_SOURCES_NVML_LIBRARY_H_
#define SASSAY_MONITOR_SOURCES_NVML_LIBRARY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::monitor::nvml {

using Device = void*;
using EventSet = void*;

// nvmlReturn_t, as far as it makes a difference.
inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kInsufficientSize = 7;
inline constexpr int kTimeout = 10;
inline constexpr int kGpuIsLost = 15;
inline constexpr int kResetRequired = 16;

// nvmlClockType_t, nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlMemoryErrorType_t, nvmlEccCounterType_t.
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
inline constexpr int kSensorGpu = 0;
inline constexpr int kThresholdSlowdown = 1;
inline constexpr int kEccCorrected = 0;
inline constexpr int kEccUncorrected = 1;
inline constexpr int kEccSinceDriverLoad = 0;

// nvmlEventTypeXidCriticalError.
inline constexpr unsigned long long kEventXid = 0x8;

// NVML_FI_DEV_*. The counters of reasons are nanoseconds in force since the driver was loaded.
inline constexpr unsigned kFieldPowerCapNs = 74;
inline constexpr unsigned kFieldMemoryTemperature = 82;
inline constexpr unsigned kFieldSoftwareThermalNs = 269;
inline constexpr unsigned kFieldHardwareThermalNs = 270;
inline constexpr unsigned kFieldPowerBrakeNs = 271;

// nvmlFieldValue_t.
struct Field {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  int value_type;
  int result;
  unsigned long long value;
};
static_assert(sizeof(Field) == 40);

// nvmlMarginTemperature_v1_t; the version is its size with 1 in the highest byte.
struct MarginTemperature {
  unsigned version = sizeof(unsigned) + sizeof(int) + (1u << 24);
  int celsius = 0;
};

// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(Process) == 24);

// nvmlUtilization_t, in percent.
struct Utilization {
  unsigned gpu;
  unsigned memory;
};

// nvmlPciInfo_t.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

// nvmlEventData_t.
struct Event {
  Device device;
  unsigned long long type;
  unsigned long long data;
  unsigned gpu_instance;
  unsigned compute_instance;
};
static_assert(sizeof(Event) == 32);

// Functions by their NVML name. Those behind `// may be null` are missing in old drivers. Thread-safe, as NVML is;
// every call may hang.
struct Library {
  // UNAVAILABLE where there is no library, or one that lacks what everything needs. Does not initialise NVML.
  static absl::StatusOr<Library> Load(const char* file = "libnvidia-ml.so.1");

  int (*Init)() = nullptr;
  int (*DeviceGetCount)(unsigned*) = nullptr;
  int (*DeviceGetHandleByIndex)(unsigned, Device*) = nullptr;
  int (*DeviceGetUuid)(Device, char*, unsigned) = nullptr;
  int (*DeviceGetName)(Device, char*, unsigned) = nullptr;
  int (*DeviceGetClockInfo)(Device, int, unsigned*) = nullptr;
  int (*DeviceGetTemperature)(Device, int, unsigned*) = nullptr;
  int (*DeviceGetPowerUsage)(Device, unsigned*) = nullptr;
  // may be null
  const char* (*ErrorString)(int) = nullptr;
  int (*DeviceGetPciInfo)(Device, PciInfo*) = nullptr;
  int (*DeviceGetClocksEventReasons)(Device, unsigned long long*) = nullptr;
  int (*DeviceGetFieldValues)(Device, int, Field*) = nullptr;
  int (*DeviceGetMarginTemperature)(Device, MarginTemperature*) = nullptr;
  int (*DeviceGetTemperatureThreshold)(Device, int, unsigned*) = nullptr;
  int (*DeviceGetEnforcedPowerLimit)(Device, unsigned*) = nullptr;
  int (*DeviceGetTotalEccErrors)(Device, int, int, unsigned long long*) = nullptr;
  int (*DeviceGetRemappedRows)(Device, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  int (*DeviceGetPcieReplayCounter)(Device, unsigned*) = nullptr;
  int (*DeviceGetUtilizationRates)(Device, Utilization*) = nullptr;
  int (*DeviceGetComputeRunningProcesses)(Device, unsigned*, Process*) = nullptr;
  int (*EventSetCreate)(EventSet*) = nullptr;
  int (*DeviceRegisterEvents)(Device, unsigned long long, EventSet) = nullptr;
  int (*EventSetWait)(EventSet, Event*, unsigned) = nullptr;

  // "GPU is lost (15)".
  std::string Describe(int result) const;
};

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_LIBRARY_H_
