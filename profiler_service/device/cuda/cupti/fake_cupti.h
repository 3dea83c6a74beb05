// For tests alone: CUPTI without a GPU behind it, whose records a test writes.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_FAKE_CUPTI_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_FAKE_CUPTI_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler_service/device/cuda/cupti/cupti.h"

namespace sassay::device::cuda {

// The ids of our two metrics in the fake.
inline constexpr uint64_t kFakeWarpMetric = 0x77, kFakeThreadMetric = 0x88;
inline constexpr uint64_t kFakeCrc = 0x1122334455667788;

// As CUPTI hands it over: one record for an instruction and a metric, or one for both; slots in any order.
struct FakeRecord {
  std::string function;
  uint32_t pc_offset = 0;
  std::vector<std::pair<uint64_t, uint64_t>> slots;  // metric id, value
  uint32_t crc = static_cast<uint32_t>(kFakeCrc);
};

// What the fake does. One test at a time.
struct FakeCuptiState {
  // What a function returns by its name; success otherwise.
  std::map<std::string, CUptiResult> results;
  // Records of the flushes to come, in order; without one there are none.
  std::vector<std::vector<FakeRecord>> flushes;
  size_t instances = 1;
  size_t dropped = 0;  // told by every disable
  // Calls in order, by name.
  std::vector<std::string> log;
};

FakeCuptiState& FakeCuptiStateOf();

// Resets the state.
Cupti FakeCupti();

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_FAKE_CUPTI_H_
