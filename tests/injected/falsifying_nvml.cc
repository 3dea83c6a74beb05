// For tests alone: libnvidia-ml.so.1 of a GPU that is too hot. It says so at every reading, and that it has been so
// since the one before.
#include <string.h>

extern "C" {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr unsigned long long kHardwareThermalSlowdown = 0x40;
constexpr unsigned kThermalSlowdownField = 270;

// nvmlFieldValue_t.
struct Field {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  int result;
  unsigned long long value;
};

__attribute__((visibility("default"))) int nvmlInit_v2() { return kSuccess; }

__attribute__((visibility("default"))) int nvmlDeviceGetHandleByUUID(const char*, void** device) {
  static int any;
  *device = &any;
  return kSuccess;
}

__attribute__((visibility("default"))) int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1200;
  return kSuccess;
}

__attribute__((visibility("default"))) int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = kHardwareThermalSlowdown;
  return kSuccess;
}

__attribute__((visibility("default"))) int nvmlDeviceGetFieldValues(void*, int count, Field* fields) {
  static unsigned long long nanoseconds = 0;
  for (int i = 0; i < count; ++i) {
    fields[i].result = fields[i].field == kThermalSlowdownField ? kSuccess : kNotSupported;
    fields[i].value = nanoseconds += 1000;
  }
  return kSuccess;
}

}  // extern "C"
