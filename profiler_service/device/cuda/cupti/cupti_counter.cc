#include "profiler_service/device/cuda/cupti/cupti_counter.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::device::cuda {
namespace {

constexpr const char* kWarpMetric = "smsp__sass_inst_executed";
constexpr const char* kThreadMetric = "smsp__sass_thread_inst_executed_pred_on";
constexpr size_t kMetrics = 2;

// Most records of one flush: a cubin of 64 MB has four million instructions.
constexpr size_t kMaxRecords = size_t{1} << 23;
constexpr size_t kMaxValues = size_t{1} << 25;

// CUPTI tells versions of a structure apart by its size.
template <typename Parameters>
Parameters Sized(size_t bytes) {
  Parameters parameters{};
  parameters.structSize = bytes;
  return parameters;
}

void CUPTIAPI IgnoreCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

absl::StatusOr<std::unique_ptr<SassCounter>> CuptiCounter::Open(const Cupti& cupti) {
  std::unique_ptr<CuptiCounter> counter(new CuptiCounter(cupti));
  RETURN_IF_ERROR(counter->Subscribe());
  return std::unique_ptr<SassCounter>(std::move(counter));
}

// CUPTI patches a kernel when it sees the launch, and without a subscriber to these domains it sees none: everything
// then succeeds, and there are no records.
absl::Status CuptiCounter::Subscribe() {
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSubscribe(&subscriber_, IgnoreCallback, nullptr), "subscribing"));
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE}) {
    RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiEnableDomain(1, subscriber_, domain), "asking to be told of launches"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CuptiCounter::MetricId(const char* chip, const char* name) const {
  auto properties = Sized<CUpti_SassMetrics_GetProperties_Params>(CUpti_SassMetrics_GetProperties_Params_STRUCT_SIZE);
  properties.pChipName = chip;
  properties.pMetricName = name;
  RETURN_IF_ERROR(
      cupti_.Check(cupti_.cuptiSassMetricsGetProperties(&properties), absl::StrCat("looking for the metric ", name)));
  return properties.metric.metricId;
}

absl::Status CuptiCounter::Attach(CUcontext context, uint32_t device_index) {
  context_ = context;
  device_index_ = device_index;
  auto initialize = Sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiProfilerInitialize(&initialize), "starting the profiler"));
  auto chip = Sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  chip.deviceIndex = device_index_;
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiDeviceGetChipName(&chip), "reading the chip's name"));
  ASSIGN_OR_RETURN(warp_metric_, MetricId(chip.pChipName, kWarpMetric));
  ASSIGN_OR_RETURN(thread_metric_, MetricId(chip.pChipName, kThreadMetric));
  CUpti_SassMetrics_Config configs[kMetrics] = {{warp_metric_, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU},
                                                {thread_metric_, CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU}};
  auto config = Sized<CUpti_SassMetricsSetConfig_Params>(CUpti_SassMetricsSetConfig_Params_STRUCT_SIZE);
  config.numOfMetricConfig = kMetrics;
  config.pConfigs = configs;
  config.deviceIndex = device_index_;
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSassMetricsSetConfig(&config), "choosing the metrics"));
  configured_ = true;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CuptiCounter::CubinCrc(absl::string_view cubin) {
  CUpti_GetCubinCrcParams crc{};
  crc.size = CUpti_GetCubinCrcParamsSize;
  crc.cubin = cubin.data();
  crc.cubinSize = cubin.size();
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiGetCubinCrc(&crc), "computing the cubin's CRC"));
  return cubin_crc_ = crc.cubinCrc;
}

absl::Status CuptiCounter::Arm(absl::string_view kernel) {
  RETURN_IF_ERROR(Disarm());
  auto enable = Sized<CUpti_SassMetricsEnable_Params>(CUpti_SassMetricsEnable_Params_STRUCT_SIZE);
  enable.ctx = context_;
  enable.enableLazyPatching = 1;
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSassMetricsEnable(&enable), "starting to count"));
  armed_ = true;
  kernel_ = std::string(kernel);
  return absl::OkStatus();
}

absl::Status CuptiCounter::Disarm() {
  if (!armed_) return absl::OkStatus();
  armed_ = false;
  auto disable = Sized<CUpti_SassMetricsDisable_Params>(CUpti_SassMetricsDisable_Params_STRUCT_SIZE);
  disable.ctx = context_;
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSassMetricsDisable(&disable), "ending the count"));
  dropped_ += disable.numOfDroppedRecords;
  return absl::OkStatus();
}

CuptiCounter::Group& CuptiCounter::GroupOfLaunch() {
  const uint32_t launch = launches_++;
  if (launch >= kSingleLaunches) {
    const auto [known, fresh] = later_.emplace(kernel_, groups_.size());
    if (!fresh) return groups_[known->second];
  }
  Group& group = groups_.emplace_back();
  group.first_launch = launch;
  group.kernel = kernel_;
  return group;
}

void CuptiCounter::Book(const CUpti_SassMetrics_Data& record, size_t values, Group& group) {
  if (record.cubinCrc != static_cast<uint32_t>(cubin_crc_) || record.functionName == nullptr) return;
  Counts counts;
  for (size_t i = 0; i < values; ++i) {
    const CUpti_SassMetrics_InstanceValue& value = record.pInstanceValues[i];
    if (value.metricId == warp_metric_) counts.warps += value.value;
    if (value.metricId == thread_metric_) counts.threads += value.value;
  }
  if (counts.warps == 0 && counts.threads == 0) return;
  Function& function = group.functions[record.functionName];
  const auto [known, fresh] = function.try_emplace(record.pcOffset);
  if (fresh && ++rows_ > kMaxRows) {
    function.erase(known);
    truncated_ = true;
    return;
  }
  known->second.warps += counts.warps;
  known->second.threads += counts.threads;
}

absl::Status CuptiCounter::Take() {
  if (!armed_) return absl::OkStatus();
  Group& group = GroupOfLaunch();
  ++group.launches;
  RETURN_IF_ERROR(Flush(group));
  return Disarm();
}

absl::Status CuptiCounter::Flush(Group& group) {
  auto properties =
      Sized<CUpti_SassMetricsGetDataProperties_Params>(CUpti_SassMetricsGetDataProperties_Params_STRUCT_SIZE);
  properties.ctx = context_;
  RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSassMetricsGetDataProperties(&properties), "asking how much was counted"));
  const size_t records = properties.numOfPatchedInstructionRecords, values = properties.numOfInstances * kMetrics;
  if (records == 0 || values == 0) return absl::OkStatus();
  if (records > kMaxRecords || values > kMaxValues / records) {
    return absl::UnavailableError(
        absl::StrCat("CUPTI wants to hand over ", records, " records of ", values, " values"));
  }
  std::vector<CUpti_SassMetrics_Data> data(records);
  std::vector<CUpti_SassMetrics_InstanceValue> slots(records * values);
  for (size_t i = 0; i < records; ++i) {
    data[i].structSize = sizeof(CUpti_SassMetrics_Data);
    data[i].pInstanceValues = &slots[i * values];
  }
  auto flush = Sized<CUpti_SassMetricsFlushData_Params>(CUpti_SassMetricsFlushData_Params_STRUCT_SIZE);
  flush.ctx = context_;
  flush.numOfPatchedInstructionRecords = records;
  flush.numOfInstances = properties.numOfInstances;
  flush.pMetricsData = data.data();
  const absl::Status flushed = cupti_.Check(cupti_.cuptiSassMetricsFlushData(&flush), "taking the counts");
  for (const CUpti_SassMetrics_Data& record : data) {
    if (flushed.ok()) Book(record, values, group);
    std::free(const_cast<char*>(record.functionName));  // each record has a copy, and it is the caller's
  }
  return flushed;
}

absl::StatusOr<sassay::worker::SassCounts> CuptiCounter::Finish() {
  RETURN_IF_ERROR(Disarm());
  if (configured_) {
    configured_ = false;
    auto unset = Sized<CUpti_SassMetricsUnsetConfig_Params>(CUpti_SassMetricsUnsetConfig_Params_STRUCT_SIZE);
    unset.deviceIndex = device_index_;
    RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiSassMetricsUnsetConfig(&unset), "giving up the metrics"));
  }
  if (CUpti_SubscriberHandle subscriber = std::exchange(subscriber_, nullptr)) {
    RETURN_IF_ERROR(cupti_.Check(cupti_.cuptiUnsubscribe(subscriber), "unsubscribing"));
  }
  sassay::worker::SassCounts counts;
  counts.set_cubin_crc(cubin_crc_);
  counts.set_truncated(truncated_);
  counts.set_dropped_records(dropped_);
  for (const Group& group : groups_) *counts.add_launches() = Told(group);
  return counts;
}

sassay::worker::SassLaunchCounts CuptiCounter::Told(const Group& group) {
  sassay::worker::SassLaunchCounts launch;
  launch.set_first_launch(group.first_launch);
  launch.set_launches(group.launches);
  launch.set_kernel(group.kernel);
  for (const auto& [name, instructions] : group.functions) {
    auto& function = *launch.add_functions();
    function.set_function(name);
    for (const auto& [pc, count] : instructions) {
      function.add_pc_offset_bytes(pc);
      function.add_warp_count(count.warps);
      function.add_thread_count(count.threads);
    }
  }
  return launch;
}

absl::StatusOr<std::unique_ptr<SassCounter>> OpenSassCounter() {
  ASSIGN_OR_RETURN(const Cupti* cupti, Cupti::Get());
  return CuptiCounter::Open(*cupti);
}

}  // namespace sassay::device::cuda
