// The GPUs that NVML knows, by UUID and by PCI address.
//
// Why: indices differ from process to process and inside cgroups; everything of ours speaks of UUIDs, and the kernel
// log of PCI addresses.
#ifndef SASSAY_MONITOR_SOURCES_NVML_GPUS_H_
#define SASSAY_MONITOR_SOURCES_NVML_GPUS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "monitor/sources/nvml/library.h"

namespace sassay::monitor::nvml {

struct Gpu {
  Device device = nullptr;
  unsigned index = 0;  // NVML's, for people and metrics
  std::string uuid;
  std::string model;
  std::string pci;  // "0000:18:00"; empty if NVML does not say
};

// Initialises NVML and lists its GPUs. UNAVAILABLE: no driver, or NVML does not start. A GPU that is lost already has
// no handle, and is not among them.
absl::StatusOr<std::vector<Gpu>> ListGpus(const Library& library);

// "0000:18:00" of "PCI:0000:18:00", "00000000:18:00.0" and their kin: domain of four digits, bus and device, lower
// case. Empty if it is none.
std::string NormalPci(absl::string_view address);

// What one source found and others want to know. Thread-safe.
class Directory {
 public:
  void Learn(const std::vector<Gpu>& gpus) ABSL_LOCKS_EXCLUDED(mutex_);
  // From a line of the kernel log that names both.
  void Learn(absl::string_view pci, absl::string_view uuid) ABSL_LOCKS_EXCLUDED(mutex_);
  // Empty: unknown.
  std::string UuidAt(absl::string_view pci) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Gpu> gpus() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::vector<Gpu> gpus_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string, std::less<>> uuid_by_pci_ ABSL_GUARDED_BY(mutex_);
};

// Says once what a driver or a GPU lacks. Thread-compatible.
class Lacks {
 public:
  void Say(const Gpu& gpu, absl::string_view signal, absl::string_view why);

 private:
  std::set<std::string> said_;
};

}  // namespace sassay::monitor::nvml

#endif  // SASSAY_MONITOR_SOURCES_NVML_GPUS_H_
