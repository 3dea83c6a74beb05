#include "profiler_service/device/cuda/cupti/fake_cupti.h"

#include <cstring>

namespace sassay::device::cuda {
namespace {

CUptiResult Answer(const char* name) {
  FakeCuptiState& state = FakeCuptiStateOf();
  state.log.push_back(name);
  const auto found = state.results.find(name);
  return found == state.results.end() ? CUPTI_SUCCESS : found->second;
}

CUptiResult Properties(CUpti_SassMetrics_GetProperties_Params* properties) {
  const std::string name = properties->pMetricName;
  properties->metric.metricId = name == "smsp__sass_inst_executed" ? kFakeWarpMetric : kFakeThreadMetric;
  return Answer("cuptiSassMetricsGetProperties");
}

CUptiResult DataProperties(CUpti_SassMetricsGetDataProperties_Params* properties) {
  const FakeCuptiState& state = FakeCuptiStateOf();
  properties->numOfPatchedInstructionRecords = state.flushes.empty() ? 0 : state.flushes.front().size();
  properties->numOfInstances = state.flushes.empty() ? 0 : state.instances;
  return Answer("cuptiSassMetricsGetDataProperties");
}

// The slots that a record does not fill stay as the caller made them.
CUptiResult Flush(CUpti_SassMetricsFlushData_Params* flush) {
  FakeCuptiState& state = FakeCuptiStateOf();
  const std::vector<FakeRecord> records = state.flushes.front();
  state.flushes.erase(state.flushes.begin());
  for (size_t i = 0; i < flush->numOfPatchedInstructionRecords; ++i) {
    const FakeRecord& record = records[i];
    CUpti_SassMetrics_Data& data = flush->pMetricsData[i];
    data.cubinCrc = record.crc;
    data.functionName = record.function.empty() ? nullptr : strdup(record.function.c_str());
    data.pcOffset = record.pc_offset;
    for (size_t k = 0; k < record.slots.size(); ++k) {
      data.pInstanceValues[k] = {record.slots[k].first, record.slots[k].second};
    }
  }
  return Answer("cuptiSassMetricsFlushData");
}

}  // namespace

FakeCuptiState& FakeCuptiStateOf() {
  static auto* const state = new FakeCuptiState;
  return *state;
}

Cupti FakeCupti() {
  FakeCuptiStateOf() = FakeCuptiState();
  Cupti cupti;
  cupti.cuptiGetResultString = [](CUptiResult, const char** text) {
    return *text = "as the test wants it", CUPTI_SUCCESS;
  };
  cupti.cuptiSubscribe = [](CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&FakeCuptiStateOf());
    return Answer("cuptiSubscribe");
  };
  cupti.cuptiUnsubscribe = [](CUpti_SubscriberHandle) { return Answer("cuptiUnsubscribe"); };
  cupti.cuptiEnableDomain = [](uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
    return Answer("cuptiEnableDomain");
  };
  cupti.cuptiGetCubinCrc = [](CUpti_GetCubinCrcParams* crc) {
    crc->cubinCrc = kFakeCrc;
    return Answer("cuptiGetCubinCrc");
  };
  cupti.cuptiDeviceGetChipName = [](CUpti_Device_GetChipName_Params* chip) {
    chip->pChipName = "GH100";
    return Answer("cuptiDeviceGetChipName");
  };
  cupti.cuptiProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) { return Answer("cuptiProfilerInitialize"); };
  cupti.cuptiSassMetricsGetProperties = Properties;
  cupti.cuptiSassMetricsSetConfig = [](CUpti_SassMetricsSetConfig_Params*) {
    return Answer("cuptiSassMetricsSetConfig");
  };
  cupti.cuptiSassMetricsUnsetConfig = [](CUpti_SassMetricsUnsetConfig_Params*) {
    return Answer("cuptiSassMetricsUnsetConfig");
  };
  cupti.cuptiSassMetricsEnable = [](CUpti_SassMetricsEnable_Params*) { return Answer("cuptiSassMetricsEnable"); };
  cupti.cuptiSassMetricsDisable = [](CUpti_SassMetricsDisable_Params* disable) {
    disable->numOfDroppedRecords = FakeCuptiStateOf().dropped;
    return Answer("cuptiSassMetricsDisable");
  };
  cupti.cuptiSassMetricsGetDataProperties = DataProperties;
  cupti.cuptiSassMetricsFlushData = Flush;
  return cupti;
}

}  // namespace sassay::device::cuda
