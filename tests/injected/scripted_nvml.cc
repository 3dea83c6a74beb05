// For tests alone: libnvidia-ml.so.1 of GPUs that do what a file says. The file, named by SASSAY_SCRIPTED_NVML, is
// looked at again at each call, so that a test changes it while the monitor runs:
//
//   hang                           every call waits until this line is gone
//   lost_driver                    nvmlInit fails
//   gpu UUID [key=value …]         one line for each GPU, in the order of their indices. Keys:
//     temperature margin clock memory_clock power limit utilization      numbers, in C, MHz, W and percent
//     reasons                      NVML's bit mask; the cumulative counter of each bit runs while it is set
//     ecc ecc_corrected remap_pending remap_failed replay                counters and flags
//     processes                    pids joined by ','
//     xid                          codes joined by ','; each one that was not there before is an event
//     error                        every call about this GPU gives this number (15: it is lost)
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kTimeout = 10;

// nvmlFieldValue_t, nvmlMarginTemperature_t, nvmlProcessInfo_t, nvmlUtilization_t, nvmlPciInfo_t, nvmlEventData_t.
struct Field {
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type, result;
  unsigned long long value;
};
struct Margin {
  unsigned version;
  int celsius;
};
struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

using Clock = std::chrono::steady_clock;

struct Gpu {
  std::string uuid;
  std::map<std::string, std::string> keys;
  std::map<unsigned long long, unsigned long long> reason_ns;  // by bit
  Clock::time_point counted = Clock::now();
  std::set<std::string> told_xids;

  double Number(const std::string& key, double missing) const {
    const auto found = keys.find(key);
    return found == keys.end() ? missing : std::strtod(found->second.c_str(), nullptr);
  }
  unsigned long long Reasons() const {
    const auto found = keys.find("reasons");
    return found == keys.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 0);
  }
  void Count() {
    const auto now = Clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(now - counted).count();
    counted = now;
    for (int bit = 0; bit < 16; ++bit) {
      if ((Reasons() >> bit) & 1) reason_ns[1ull << bit] += passed;
    }
  }
};

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

class Machine {
 public:
  static Machine& Get() {
    static Machine& machine = *new Machine;
    return machine;
  }

  // Waits while the script says so.
  std::unique_lock<std::mutex> Enter() {
    while (true) {
      std::unique_lock<std::mutex> lock(mutex_);
      Refresh();
      if (!hang_) return lock;
      lock.unlock();
      usleep(10'000);
    }
  }

  std::deque<Gpu>& gpus() { return gpus_; }
  bool driver() const { return driver_; }

 private:
  // A script is replaced by renaming another one into its place.
  void Refresh() {
    const char* path = std::getenv("SASSAY_SCRIPTED_NVML");
    struct stat now = {};
    if (path == nullptr || stat(path, &now) != 0) return;
    if (now.st_ino == seen_.st_ino && now.st_mtim.tv_sec == seen_.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec) {
      return;
    }
    seen_ = now;
    Parse(path);
  }

  void Parse(const char* path) {
    std::ifstream file(path);
    hang_ = false;
    driver_ = true;
    size_t index = 0;
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      hang_ = hang_ || word == "hang";
      driver_ = driver_ && word != "lost_driver";
      if (word == "gpu") ParseGpu(words, index++);
    }
  }

  void ParseGpu(std::istringstream& words, size_t index) {
    if (gpus_.size() <= index) gpus_.resize(index + 1);
    Gpu& gpu = gpus_[index];
    gpu.Count();
    gpu.keys.clear();
    words >> gpu.uuid;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos) gpu.keys[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::mutex mutex_;
  struct stat seen_ = {};
  bool hang_ = false;
  bool driver_ = true;
  std::deque<Gpu> gpus_;  // never shrinks: devices are pointers to these
};

// Runs `answer` on the GPU unless the script gives it an error.
template <typename Answer>
int With(void* device, const Answer& answer) {
  const auto lock = Machine::Get().Enter();
  Gpu& gpu = *static_cast<Gpu*>(device);
  const int error = static_cast<int>(gpu.Number("error", 0));
  if (error != 0) return error;
  gpu.Count();
  return answer(gpu);
}

void Copy(const std::string& text, char* out, size_t size) {
  strncpy(out, text.c_str(), size);
  out[size - 1] = '\0';
}

bool TakeXid(Event* event) {
  const auto lock = Machine::Get().Enter();
  for (Gpu& gpu : Machine::Get().gpus()) {
    for (const std::string& xid : Split(gpu.keys["xid"])) {
      if (!gpu.told_xids.insert(xid).second) continue;
      *event = {&gpu, 0x8, std::strtoull(xid.c_str(), nullptr, 10), ~0u, ~0u};
      return true;
    }
  }
  return false;
}

}  // namespace

extern "C" {

// The driver's library writes zeros over tables of megabytes when it starts; so does this, but for one word.
EXPORT extern const size_t scripted_nvml_tables_bytes;
const size_t scripted_nvml_tables_bytes = 4 << 20;
EXPORT volatile char scripted_nvml_tables[4 << 20];

EXPORT int nvmlInit_v2() {
  for (volatile char& byte : scripted_nvml_tables) byte = 0;
  scripted_nvml_tables[2 << 20] = 1;
  const auto lock = Machine::Get().Enter();
  return Machine::Get().driver() ? kSuccess : kUninitialized;
}

EXPORT const char* nvmlErrorString(int result) { return result == 15 ? "GPU is lost" : "scripted error"; }

EXPORT int nvmlDeviceGetCount_v2(unsigned* count) {
  const auto lock = Machine::Get().Enter();
  *count = static_cast<unsigned>(Machine::Get().gpus().size());
  return kSuccess;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  const auto lock = Machine::Get().Enter();
  *device = &Machine::Get().gpus()[index];
  return kSuccess;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const auto lock = Machine::Get().Enter();
  for (Gpu& gpu : Machine::Get().gpus()) {
    *device = &gpu;
    if (gpu.uuid == uuid) return kSuccess;
  }
  return 6;
}

EXPORT int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  return With(device, [&](Gpu& gpu) {
    Copy(gpu.uuid, uuid, size);
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetName(void*, char* name, unsigned size) {
  Copy("NVIDIA scripted", name, size);
  return kSuccess;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  return With(device, [&](Gpu& gpu) {
    unsigned index = 0;
    for (const Gpu& other : Machine::Get().gpus()) {
      if (&other == &gpu) break;
      ++index;
    }
    snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0", 0x10 + index);
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetClockInfo(void* device, int kind, unsigned* mhz) {
  return With(device, [&](Gpu& gpu) {
    *mhz = static_cast<unsigned>(kind == 2 ? gpu.Number("memory_clock", 3201) : gpu.Number("clock", 1980));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetTemperature(void* device, int, unsigned* celsius) {
  return With(device, [&](Gpu& gpu) {
    *celsius = static_cast<unsigned>(gpu.Number("temperature", 40));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetMarginTemperature(void* device, Margin* margin) {
  return With(device, [&](Gpu& gpu) {
    margin->celsius = static_cast<int>(gpu.Number("margin", 40));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  return With(device, [&](Gpu& gpu) {
    *reasons = gpu.Reasons();
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetFieldValues(void* device, int count, Field* fields) {
  static const std::map<unsigned, unsigned long long> bits = {{74, 0x4}, {269, 0x20}, {270, 0x40}, {271, 0x80}};
  return With(device, [&](Gpu& gpu) {
    for (int i = 0; i < count; ++i) {
      const auto bit = bits.find(fields[i].field);
      fields[i].result = bit == bits.end() ? kNotSupported : kSuccess;
      if (bit != bits.end()) fields[i].value = gpu.reason_ns[bit->second];
    }
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return With(device, [&](Gpu& gpu) {
    *milliwatts = static_cast<unsigned>(gpu.Number("power", 100) * 1000);
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return With(device, [&](Gpu& gpu) {
    *milliwatts = static_cast<unsigned>(gpu.Number("limit", 700) * 1000);
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetTotalEccErrors(void* device, int kind, int, unsigned long long* count) {
  return With(device, [&](Gpu& gpu) {
    *count = static_cast<unsigned long long>(gpu.Number(kind == 1 ? "ecc" : "ecc_corrected", 0));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetRemappedRows(void* device, unsigned* correctable, unsigned* uncorrectable, unsigned* pending,
                                     unsigned* failed) {
  return With(device, [&](Gpu& gpu) {
    *correctable = *uncorrectable = 0;
    *pending = static_cast<unsigned>(gpu.Number("remap_pending", 0));
    *failed = static_cast<unsigned>(gpu.Number("remap_failed", 0));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* count) {
  return With(device, [&](Gpu& gpu) {
    *count = static_cast<unsigned>(gpu.Number("replay", 0));
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetUtilizationRates(void* device, Utilization* utilization) {
  return With(device, [&](Gpu& gpu) {
    *utilization = {static_cast<unsigned>(gpu.Number("utilization", 0)), 0};
    return kSuccess;
  });
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  return With(device, [&](Gpu& gpu) {
    const std::vector<std::string> pids = Split(gpu.keys["processes"]);
    const unsigned room = *count;
    *count = static_cast<unsigned>(pids.size());
    if (pids.size() > room) return kInsufficientSize;
    for (size_t i = 0; i < pids.size(); ++i) {
      processes[i] = {static_cast<unsigned>(std::strtoul(pids[i].c_str(), nullptr, 10)), 1 << 20, ~0u, ~0u};
    }
    return kSuccess;
  });
}

EXPORT int nvmlEventSetCreate(void** set) {
  static int any;
  *set = &any;
  return kSuccess;
}

EXPORT int nvmlDeviceRegisterEvents(void* device, unsigned long long, void*) {
  return With(device, [](Gpu&) { return kSuccess; });
}

EXPORT int nvmlEventSetWait_v2(void*, Event* event, unsigned timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!TakeXid(event)) {
    if (Clock::now() >= deadline) return kTimeout;
    usleep(10'000);
  }
  return kSuccess;
}

}  // extern "C"
