// A device in ordinary memory, for the tests of what stands above devices: kernels are C++ functions of the test.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_FAKE_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_FAKE_DEVICE_H_

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/device/device.h"

namespace sassay::device {

// Keeps bytes, refuses what leaves an allocation, and runs kernels when they are waited for, in order. Shared memory is
// a memfd, so that it can be mapped twice as on a real device. Public members are the test's handles.
// Thread-compatible.
class FakeDevice : public Device {
 public:
  // A kernel gets the launch and the device, and may end badly.
  using Kernel = std::function<Execution(const Launch&, FakeDevice&)>;

  ~FakeDevice() override;

  std::map<std::string, Kernel> kernels;
  // Variables of the module and their sizes; addresses are given when the module is loaded.
  std::map<std::string, uint64_t> symbols;
  // What an operation ("allocate", "map", "write", "poison", "flush", "mark", "hold", "probe") answers in place of
  // doing it; OK to let it be done.
  std::function<absl::Status(absl::string_view operation)> trouble = [](absl::string_view) { return absl::OkStatus(); };
  // What LoadModule answers.
  absl::Status load_status;
  // Counts launch by launch, as a device that runs SASS.
  bool runs_sass = false;
  // What was asked for, in words: "allocate workspace 0 16", "launch k", "poison 7 16", "wait", "flush", "mark 0",
  // "hold", "release", "probe" …
  std::vector<std::string> log;

  // What was marked as an input.
  std::vector<DeviceAddress> inputs;

  const DeviceInfo& info() const override { return info_; }
  absl::StatusOr<DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label) override;
  absl::Status Free(DeviceAddress address) override;
  absl::Status MarkInput(DeviceAddress address) override {
    inputs.push_back(address);
    return absl::OkStatus();
  }
  absl::StatusOr<SharedMemory> AllocateShared(uint64_t size_bytes) override;
  absl::StatusOr<DeviceAddress> MapShared(int fd, uint64_t object_bytes) override;
  absl::Status Write(DeviceAddress destination, absl::Span<const char> bytes) override;
  absl::Status Read(absl::Span<char> bytes, DeviceAddress source) override;
  absl::Status Copy(DeviceAddress destination, DeviceAddress source, uint64_t size_bytes) override;
  absl::Status Fill(DeviceAddress destination, uint32_t value, uint32_t element_bytes, uint64_t count) override;
  absl::Status Poison(DeviceAddress destination, uint64_t size_bytes, uint64_t seed) override;
  absl::Status LoadModule(const sassay::v1::Bundle& bundle) override;
  absl::StatusOr<SymbolRegion> Symbol(absl::string_view name) override;
  // 0xEE everywhere but for the base address in the first eight bytes.
  absl::StatusOr<std::array<char, 128>> EncodeTensorMap(const sassay::v1::TensorMap& map, DeviceAddress base) override;
  absl::Status Enqueue(const Launch& launch) override;
  absl::StatusOr<Execution> Synchronize(absl::Time deadline) override;
  absl::StatusOr<sassay::v1::Evidence> CollectEvidence() override;
  absl::StatusOr<bool> CountLaunches() override { return runs_sass; }
  // One entry in `launches` with all launches so far.
  absl::StatusOr<sassay::worker::SassCounts> CollectSassCounts() override;
  // Time is counted in launches: one microsecond each.
  absl::StatusOr<int> Mark() override;
  absl::StatusOr<double> NanosecondsBetween(int first_mark, int second_mark) override;
  void ForgetMarks() override { log.push_back("forget"); }
  absl::Status FlushL2() override;
  absl::Status Hold(absl::Duration timeout) override;
  // A wait for the device while it is held is a hold that timed out.
  void Release() override;
  bool HeldTooLong() override { return std::exchange(late_, false); }
  absl::Status ProbeClock() override;
  double ProbedClockMhz() override { return clock_mhz; }

  // What ProbedClockMhz answers.
  double clock_mhz = 1900;

  // Host pointer to [address, address + size_bytes); null if it leaves its allocation.
  char* At(DeviceAddress address, uint64_t size_bytes);
  std::string Bytes(DeviceAddress address, uint64_t size_bytes);

 private:
  struct Block {
    uint64_t size_bytes = 0;
    std::vector<char> own;
    void* mapped = nullptr;
  };
  absl::Status Outside(DeviceAddress address, uint64_t size_bytes) const;

  DeviceInfo info_{"fake", "fake", "fake#0", "sm_90a", "", 1, 1 << 20};
  std::map<DeviceAddress, Block> blocks_;
  std::map<std::string, SymbolRegion> symbol_regions_;
  std::vector<Launch> queue_;
  std::vector<uint64_t> marks_;
  uint64_t launched_ = 0;
  bool held_ = false;
  bool late_ = false;
  DeviceAddress next_ = 0x700000000000;
};

}  // namespace sassay::device

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_FAKE_DEVICE_H_
