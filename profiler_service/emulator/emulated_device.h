// The device without hardware: runs a bundle's PTX on the CPU, and knows more about what went wrong than hardware can
// tell.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_EMULATED_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_EMULATED_DEVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/device/device.h"
#include "profiler_service/emulator/exec/grid.h"
#include "profiler_service/emulator/exec/program.h"
#include "profiler_service/emulator/exec/report.h"
#include "profiler_service/emulator/memory/global_memory.h"
#include "profiler_service/emulator/pace/ledger.h"

namespace sassay::emulator {

// device::Device on the CPU.
//
// Life cycle: allocate, load one module, enqueue, synchronize. Launches run inside Synchronize; transfers made while
// launches are queued take their place in the queue. Threads: thread-compatible; a launch runs on all cores. Failure:
// as Device says. An instruction that the emulator lacks is UNIMPLEMENTED, "emulator lacks <opcode> (PTX line N)", when
// it is reached. In CHECKED mode findings are collected until the launch ends; accesses that are not allowed read zeros
// and write nothing. In the other modes the first such access ends the launch, as on a GPU.
class EmulatedDevice : public device::Device {
 public:
  // `name`: "sm_90a" or "sm_100a"; "sm_90a#3" for the third of several that differ in nothing but their uuid.
  // UNAVAILABLE for other architectures.
  static absl::StatusOr<std::unique_ptr<device::Device>> Open(absl::string_view name, sassay::worker::RunMode mode);

  const device::DeviceInfo& info() const override { return info_; }
  absl::StatusOr<device::DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label) override;
  absl::Status Free(device::DeviceAddress address) override;
  absl::Status MarkInput(device::DeviceAddress address) override { return memory_.SetInput(address); }
  absl::StatusOr<device::SharedMemory> AllocateShared(uint64_t size_bytes) override;
  absl::StatusOr<device::DeviceAddress> MapShared(int fd, uint64_t object_bytes) override;
  absl::Status Write(device::DeviceAddress destination, absl::Span<const char> bytes) override;
  // FAILED_PRECONDITION while launches are queued: Synchronize first.
  absl::Status Read(absl::Span<char> bytes, device::DeviceAddress source) override;
  absl::Status Copy(device::DeviceAddress destination, device::DeviceAddress source, uint64_t size_bytes) override;
  absl::Status Fill(device::DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) override;
  absl::Status Poison(device::DeviceAddress destination, uint64_t size_bytes, uint64_t seed) override;
  absl::Status LoadModule(const sassay::v1::Bundle& bundle) override;
  absl::StatusOr<device::SymbolRegion> Symbol(absl::string_view name) override;
  absl::StatusOr<std::array<char, 128>> EncodeTensorMap(const sassay::v1::TensorMap& map,
                                                        device::DeviceAddress base) override;
  absl::Status Enqueue(const device::Launch& launch) override;
  absl::StatusOr<device::Execution> Synchronize(absl::Time deadline) override;
  absl::StatusOr<sassay::v1::Evidence> CollectEvidence() override;
  absl::StatusOr<int> Mark() override;
  absl::StatusOr<double> NanosecondsBetween(int first_mark, int second_mark) override;
  absl::Status FlushL2() override;

 private:
  using Action = std::function<absl::Status()>;
  struct Pending {
    Action action;  // or, where it is empty:
    device::Launch launch;
  };

  EmulatedDevice(absl::string_view arch, absl::string_view number, sassay::worker::RunMode mode);
  // Now, or in its turn behind queued launches.
  absl::Status Do(Action action);
  absl::StatusOr<const Code*> CheckLaunch(const device::Launch& launch) const;
  uint64_t ResidentBlocks(const Code& kernel, const device::Launch& launch) const;
  absl::Status Run(const device::Launch& launch, absl::Time deadline, device::Execution& execution);
  // Ends the execution if the launches that are left cannot end in time.
  void CheckLater(absl::Time start, absl::Time deadline, device::Execution& execution) const;
  void Conclude(const device::Launch& launch, LaunchContext& context, GridResult& result, device::Execution& execution);
  void CountEvidence(const device::Launch& launch, const GridResult& result);

  const sassay::worker::RunMode mode_;
  device::DeviceInfo info_;
  GlobalMemory memory_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Locator> locator_;
  uint64_t grid_workspace_ = 0;
  std::vector<Pending> queue_;
  LaunchLedger ledger_;
  std::map<std::pair<std::string, std::string>, Count> executed_;  // by (kernel, opcode)
  std::map<std::string, uint32_t> registers_;                      // of a thread, by kernel; from the cubin
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_EMULATED_DEVICE_H_
