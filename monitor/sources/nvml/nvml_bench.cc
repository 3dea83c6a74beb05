// What NVML's calls and the sources' readings cost on this machine's GPUs.
#include <benchmark/benchmark.h>
#include <time.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

const std::shared_ptr<Session>& SharedSession() {
  static const auto& session = *new std::shared_ptr<Session>(std::make_shared<Session>());
  return session;
}

Session& TheSession() { return *SharedSession(); }

// The driver answers some calls from memory that it refreshes when somebody asks and it is old: what a call costs ten
// times a second is another number than what it costs in a loop.
constexpr absl::Duration kPause = absl::Milliseconds(100);
constexpr int kPausedCalls = 8;

template <typename Call>
void MeasurePaused(const char* name, const Call& call) {
  benchmark::RegisterBenchmark(
      absl::StrCat("paused_", name).c_str(),
      [call](benchmark::State& state) {
        for (auto _ : state) {
          absl::SleepFor(kPause);
          timespec before = {}, after = {};
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
          benchmark::DoNotOptimize(call(TheSession().library(), TheSession().gpus().front().device));
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
          state.SetIterationTime(
              absl::ToDoubleSeconds(absl::DurationFromTimespec(after) - absl::DurationFromTimespec(before)));
        }
      })
      ->UseManualTime()
      ->Iterations(kPausedCalls);
}

template <typename Call>
void Measure(const char* name, const Call& call) {
  MeasurePaused(name, call);
  benchmark::RegisterBenchmark(name, [call](benchmark::State& state) {
    int result = kSuccess;
    for (auto _ : state) result = call(TheSession().library(), TheSession().gpus().front().device);
    if (result != kSuccess) state.SkipWithError(TheSession().library().Describe(result).c_str());
  })->MinTime(0.05);
}

void MeasureFields(const char* name, std::vector<unsigned> ids) {
  Measure(name, [ids](const Library& nvml, Device device) {
    std::vector<Field> fields(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) fields[i].field = ids[i];
    return nvml.DeviceGetFieldValues(device, static_cast<int>(ids.size()), fields.data());
  });
}

void MeasureCheapCalls() {
  Measure("clock_sm", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetClockInfo(d, kClockSm, &v);
  });
  Measure("clock_memory", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetClockInfo(d, kClockMemory, &v);
  });
  Measure("reasons", [](const Library& n, Device d) {
    unsigned long long v;
    return n.DeviceGetClocksEventReasons(d, &v);
  });
  Measure("power", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetPowerUsage(d, &v);
  });
  Measure("temperature", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetTemperature(d, kSensorGpu, &v);
  });
  Measure("margin", [](const Library& n, Device d) {
    MarginTemperature v;
    return n.DeviceGetMarginTemperature(d, &v);
  });
  MeasureFields("fields_reason_counters",
                {kFieldSoftwareThermalNs, kFieldHardwareThermalNs, kFieldPowerBrakeNs, kFieldPowerCapNs});
  MeasureFields("fields_thermal_and_brake", {kFieldSoftwareThermalNs, kFieldHardwareThermalNs, kFieldPowerBrakeNs});
  MeasureFields("field_software_thermal", {kFieldSoftwareThermalNs});
  MeasureFields("field_hardware_thermal", {kFieldHardwareThermalNs});
  MeasureFields("field_power_brake", {kFieldPowerBrakeNs});
  MeasureFields("field_power_cap", {kFieldPowerCapNs});
  MeasureFields("field_memory_temperature", {kFieldMemoryTemperature});
}

void MeasureDearCalls() {
  Measure("ecc_uncorrected", [](const Library& n, Device d) {
    unsigned long long v;
    return n.DeviceGetTotalEccErrors(d, kEccUncorrected, kEccSinceDriverLoad, &v);
  });
  Measure("remapped_rows", [](const Library& n, Device d) {
    unsigned a, b, c, e;
    return n.DeviceGetRemappedRows(d, &a, &b, &c, &e);
  });
  Measure("pcie_replay", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetPcieReplayCounter(d, &v);
  });
  Measure("power_limit", [](const Library& n, Device d) {
    unsigned v;
    return n.DeviceGetEnforcedPowerLimit(d, &v);
  });
  Measure("utilization", [](const Library& n, Device d) {
    Utilization v;
    return n.DeviceGetUtilizationRates(d, &v);
  });
  Measure("processes", [](const Library& n, Device d) {
    Process processes[256];
    unsigned count = 256;
    return n.DeviceGetComputeRunningProcesses(d, &count, processes);
  });
}

void MeasureSource(const char* name, std::unique_ptr<Source> source) {
  std::shared_ptr<Source> shared = std::move(source);
  benchmark::RegisterBenchmark(name, [shared](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(shared->Read());
  })->MinTime(0.2);
}

}  // namespace
}  // namespace sassay::monitor::nvml

int main(int argc, char** argv) {
  using namespace sassay::monitor;
  benchmark::Initialize(&argc, argv);
  const absl::Status opened = nvml::TheSession().Open();
  if (!opened.ok()) {
    fprintf(stderr, "%s\n", std::string(opened.message()).c_str());
    return 0;
  }
  nvml::MeasureCheapCalls();
  nvml::MeasureDearCalls();
  nvml::MeasureSource("source_nvml", nvml::MakeClockSource(nvml::SharedSession(), std::make_shared<nvml::Directory>(),
                                                           std::make_shared<Stakes>()));
  nvml::MeasureSource(
      "source_nvml_state",
      nvml::MakeStateSource(nvml::SharedSession(), std::make_shared<OurProcesses>(), std::make_shared<Stakes>()));
  benchmark::RunSpecifiedBenchmarks();
}
