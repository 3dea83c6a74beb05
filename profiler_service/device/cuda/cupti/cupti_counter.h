// SassCounter on CUPTI's SASS metrics: the driver patches each kernel so that every instruction counts itself. Exact,
// not sampled.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_COUNTER_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_COUNTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/device/cuda/cupti/cupti.h"
#include "profiler_service/device/cuda/cupti/sass_counter.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::device::cuda {

// Keys values by the metric's id: they may come in any order, with empty slots (id 0) between them. Records of other
// modules (our own kernels) are left out.
class CuptiCounter : public SassCounter {
 public:
  // Launches that are told apart; of those after them, all of one kernel are counted together, so that a plan of ten
  // thousand launches fits into a reply.
  static constexpr uint32_t kSingleLaunches = 256;
  // Instructions that a reply holds, at about ten bytes each.
  static constexpr uint64_t kMaxRows = 600'000;

  // `cupti` outlives it.
  static absl::StatusOr<std::unique_ptr<SassCounter>> Open(const Cupti& cupti);

  absl::Status Attach(CUcontext context, uint32_t device_index) override;
  absl::StatusOr<uint64_t> CubinCrc(absl::string_view cubin) override;
  absl::Status Arm(absl::string_view kernel) override;
  absl::Status Take() override;
  absl::StatusOr<sassay::worker::SassCounts> Finish() override;

 private:
  struct Counts {
    uint64_t warps = 0, threads = 0;
  };
  using Function = std::map<uint32_t, Counts>;  // by pc offset
  struct Group {
    uint32_t first_launch = 0, launches = 0;
    std::string kernel;
    std::map<std::string, Function> functions;
  };

  explicit CuptiCounter(const Cupti& cupti) : cupti_(cupti) {}

  absl::Status Subscribe();
  absl::StatusOr<uint64_t> MetricId(const char* chip, const char* name) const;
  absl::Status Flush(Group& group);
  absl::Status Disarm();
  Group& GroupOfLaunch();
  static sassay::worker::SassLaunchCounts Told(const Group& group);
  void Book(const CUpti_SassMetrics_Data& record, size_t values, Group& group);

  const Cupti& cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  CUcontext context_ = nullptr;
  uint32_t device_index_ = 0;
  uint64_t warp_metric_ = 0, thread_metric_ = 0;
  uint64_t cubin_crc_ = 0;
  bool configured_ = false, armed_ = false;
  uint64_t dropped_ = 0;
  uint32_t launches_ = 0;
  std::string kernel_;  // of the launch that is armed for
  std::vector<Group> groups_;
  std::map<std::string, size_t> later_;  // kernel -> its group of launches after kSingleLaunches
  uint64_t rows_ = 0;
  bool truncated_ = false;
};

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_CUPTI_CUPTI_COUNTER_H_
