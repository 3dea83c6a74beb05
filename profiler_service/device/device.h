// The device: what runs candidate kernels. Two implementations, `cuda` (driver API, reached by dlopen) and `emulated`
// (a PTX emulator on the CPU), run the same admitted bundle and replay the same plan. Everything above this interface
// is written once.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::device {

// An address in the device's own address space.
using DeviceAddress = uint64_t;

// What a device is.
struct DeviceInfo {
  std::string kind;            // "cuda" or "emulated"
  std::string model;           // "NVIDIA H200", "emulated sm_90a"
  std::string uuid;            // "GPU-…", "emulated:sm_90a#0"
  std::string arch;            // "sm_90a": cubins for it run here
  std::string driver_version;  // empty on an emulated device
  uint32_t multiprocessors = 0;
  uint64_t memory_bytes = 0;
  // What host code asks before it chooses a shape, by the runtime API's name ("cudaDevAttrL2CacheSize"). Empty on an
  // emulated device, which is whatever a plan was captured for.
  std::map<std::string, int64_t> attributes{};
  uint32_t max_sm_clock_mhz = 0;  // 0 where it is not known
};

// Memory that another process can map: the judge makes it, the runner maps it.
struct SharedMemory {
  UniqueFd fd;
  DeviceAddress address = 0;  // in the process that made it
  uint64_t object_bytes = 0;  // rounded up to the device's granularity
};

// A kernel to launch. Argument bytes are final: relocated, tensor maps encoded.
struct Launch {
  std::string kernel;
  sassay::v1::Dim3 grid, block;
  // All zero where the launch names no cluster.
  sassay::v1::Dim3 cluster;
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool programmatic_stream_serialization = false;
  // How much of the L1 should be shared memory, in percent; negative where the launch does not say.
  int shared_carveout_percent = -1;
  std::vector<std::string> arguments;
};

// How device work ended. The candidate's fault is in `outcome`; our own is a Status.
struct Execution {
  sassay::worker::RunOutcome outcome = sassay::worker::RUN_OUTCOME_OK;
  sassay::v1::VerdictCode code = sassay::v1::VERDICT_CODE_OK;
  std::string message;                        // one line for people
  std::vector<sassay::v1::Finding> findings;  // first cause first
  std::vector<sassay::v1::WarpState> warps;   // where the warps stood, after a timeout
  std::string device_output;                  // printf, capped
  uint64_t device_ns = 0;                     // time the device was busy
};

// A symbol of a loaded module.
struct SymbolRegion {
  DeviceAddress address = 0;
  uint64_t size_bytes = 0;
};

// One context on one device, in one process. Work is serialised in the order of the calls. Thread-compatible.
//
// Failure: a Status is our own trouble (out of memory, driver lost, emulator lacks an opcode as UNIMPLEMENTED). What
// the candidate did wrong is an Execution. After an Execution whose outcome is not OK the context must be given up. A
// kernel's fault may show first as a Status of a later call: Synchronize then tells the fault.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // False once the context must be given up: after a fault or a time-out nothing succeeds any more, and only another
  // process can have the device again.
  virtual bool usable() { return true; }

  // Memory of this process. `label` names it in findings ("C", "workspace 0"). In CHECKED mode exact: the next byte is
  // out of bounds.
  virtual absl::StatusOr<DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label) = 0;
  // Ends a life; a later access is a use-after-free finding where the device can tell.
  virtual absl::Status Free(DeviceAddress address) = 0;
  // What lies at `address`, where an allocation begins, is for kernels to read. In CHECKED mode a store that changes it
  // is a finding where the device can tell, even if it is undone.
  virtual absl::Status MarkInput(DeviceAddress address) { return absl::OkStatus(); }
  // Memory that another process can map with MapShared. Never a legacy IPC handle.
  virtual absl::StatusOr<SharedMemory> AllocateShared(uint64_t size_bytes) = 0;
  virtual absl::StatusOr<DeviceAddress> MapShared(int fd, uint64_t object_bytes) = 0;

  // Synchronous transfers. The ranges must lie inside allocations; INVALID_ARGUMENT otherwise.
  virtual absl::Status Write(DeviceAddress destination, absl::Span<const char> bytes) = 0;
  virtual absl::Status Read(absl::Span<char> bytes, DeviceAddress source) = 0;
  virtual absl::Status Copy(DeviceAddress destination, DeviceAddress source, uint64_t size_bytes) = 0;
  // element_bytes is 1, 2 or 4.
  virtual absl::Status Fill(DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) = 0;
  // Fills with a pseudo-random pattern of `seed` that looks like data. Unlike Fill it leaves the bytes *uninitialised*:
  // in CHECKED mode reading them before writing is a finding.
  virtual absl::Status Poison(DeviceAddress destination, uint64_t size_bytes, uint64_t seed) = 0;

  // Loads the candidate's module; one per context. The cubin is what a GPU runs, the PTX what the emulator runs;
  // `sources` gives findings their text. REFUSED outcomes (driver rejects the image) come as INVALID_ARGUMENT.
  virtual absl::Status LoadModule(const sassay::v1::Bundle& bundle) = 0;
  virtual absl::StatusOr<SymbolRegion> Symbol(absl::string_view name) = 0;
  // 128 bytes of CUtensorMap for `map` with its base at `base`.
  virtual absl::StatusOr<std::array<char, 128>> EncodeTensorMap(const sassay::v1::TensorMap& map,
                                                                DeviceAddress base) = 0;

  // Enqueues a launch. INVALID_ARGUMENT if the device refuses the configuration (candidate's fault).
  virtual absl::Status Enqueue(const Launch& launch) = 0;
  // Waits for everything enqueued, until `deadline` (of SteadyNow, as every deadline here).
  virtual absl::StatusOr<Execution> Synchronize(absl::Time deadline) = 0;

  // COUNTED mode on a device that runs PTX: what has executed since the module was loaded.
  virtual absl::StatusOr<sassay::v1::Evidence> CollectEvidence() = 0;
  // COUNTED mode on a device that runs SASS. True: what is enqueued from here on is counted launch by launch, so the
  // caller waits (Synchronize) after every launch. False: this device counts as CollectEvidence says, or not at all.
  virtual absl::StatusOr<bool> CountLaunches() { return false; }
  // What was counted since CountLaunches; before it, the loaded cubin's CRC alone. Trouble with counting is in
  // `unavailable`. UNIMPLEMENTED on a device that runs PTX.
  virtual absl::StatusOr<sassay::worker::SassCounts> CollectSassCounts() {
    return absl::UnimplementedError("this device runs PTX");
  }

  // Timing, on devices that have time; UNIMPLEMENTED on an emulated device. Marks are positions in the stream.
  virtual absl::StatusOr<int> Mark() = 0;
  // Nanoseconds between two marks; valid after Synchronize.
  virtual absl::StatusOr<double> NanosecondsBetween(int first_mark, int second_mark) = 0;
  // Ends the life of all marks: there may be a thousand at a time.
  virtual void ForgetMarks() {}
  // Writes over the L2 cache, so that the next launch finds it cold.
  virtual absl::Status FlushL2() = 0;
  // What is enqueued from now on does not begin before Release, or before `timeout` has passed on the device: launches
  // that are enqueued behind it begin together, whatever the host took to enqueue them. Nothing that waits for the
  // device may be called in between.
  virtual absl::Status Hold(absl::Duration timeout) { return absl::UnimplementedError("this device has no time"); }
  virtual void Release() {}
  // Whether a hold since the last question ended by its time-out; valid after Synchronize.
  virtual bool HeldTooLong() { return false; }
  // Enqueues a reading of a multiprocessor's clock beside the device's wall clock.
  virtual absl::Status ProbeClock() { return absl::UnimplementedError("this device has no time"); }
  // SM clock in MHz between the first and the last probe since ForgetMarks; 0 if unknown: other multiprocessors, or too
  // short a time. Valid after Synchronize.
  virtual double ProbedClockMhz() { return 0; }
  // How long Synchronize asks again and again before it naps between questions. A nap between samples lets the clock
  // change.
  virtual void SpinFor(absl::Duration duration) {}
  // The stream on which everything is enqueued, for libraries (a CUstream); null where there is none.
  virtual void* stream() { return nullptr; }
};

// Opens a device by its specification: "cuda:0" (index in PCI order), "cuda:GPU-…" (UUID), "emulated:sm_90a"
// or "emulated:sm_90a#3" (one of several). UNAVAILABLE with the reason if it is not there, INVALID_ARGUMENT for what is
// no specification.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(absl::string_view specification, sassay::worker::RunMode mode);

// The devices "auto" stands for: every CUDA GPU, else one emulated sm_90a.
std::vector<std::string> DetectDevices();

}  // namespace sassay::device

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_DEVICE_H_
