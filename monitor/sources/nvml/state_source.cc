#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

// What changes slowly; PCIe replays alone take 0.1 ms on an H200.
constexpr absl::Duration kNumbersEvery = absl::Seconds(5);

class StateSource : public Source {
 public:
  explicit StateSource(std::shared_ptr<OurProcesses> ours) : ours_(std::move(ours)) {}

  std::string name() const override { return "nvml_state"; }
  absl::Duration period() const override { return absl::Seconds(1); }
  absl::Duration deadline() const override { return absl::Seconds(3); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    RETURN_IF_ERROR(session_.Open());
    std::vector<Sample> samples;
    for (const Gpu& gpu : session_.gpus()) {
      Reader reader(session_.library(), gpu, lacks_, samples);
      ReadMemoryErrors(reader);
      absl::Time& numbers = numbers_read_[gpu.uuid];
      if (SteadyNow() - numbers >= kNumbersEvery) {
        numbers = SteadyNow();
        ReadRemaps(reader);
        ReadNumbers(reader);
      }
      ReadProcesses(reader);
    }
    return samples;
  }

 private:
  void ReadMemoryErrors(Reader& reader) {
    const Library& nvml = session_.library();
    unsigned long long count = 0;
    if (reader.Call("gpu.ecc_uncorrected_total", nvml.DeviceGetTotalEccErrors, kEccUncorrected, kEccSinceDriverLoad,
                    &count)) {
      reader.Add("gpu.ecc_uncorrected_total", static_cast<double>(count));
    }
    if (reader.Call("gpu.ecc_corrected_total", nvml.DeviceGetTotalEccErrors, kEccCorrected, kEccSinceDriverLoad,
                    &count)) {
      reader.Add("gpu.ecc_corrected_total", static_cast<double>(count));
    }
  }

  void ReadRemaps(Reader& reader) {
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
    if (reader.Call("gpu.row_remap_pending", session_.library().DeviceGetRemappedRows, &correctable, &uncorrectable,
                    &pending, &failed)) {
      reader.Add("gpu.row_remap_pending", pending);
      reader.Add("gpu.row_remap_failed", failed);
    }
  }

  void ReadNumbers(Reader& reader) {
    const Library& nvml = session_.library();
    unsigned value = 0;
    Utilization utilization = {};
    if (reader.Call("gpu.pcie_replay_total", nvml.DeviceGetPcieReplayCounter, &value)) {
      reader.Add("gpu.pcie_replay_total", value);
    }
    if (reader.Call("gpu.power_limit_watts", nvml.DeviceGetEnforcedPowerLimit, &value)) {
      reader.Add("gpu.power_limit_watts", value / 1000.0);
    }
    if (reader.Call("gpu.utilization_ratio", nvml.DeviceGetUtilizationRates, &utilization)) {
      reader.Add("gpu.utilization_ratio", utilization.gpu / 100.0);
    }
    Field memory = {};
    memory.field = kFieldMemoryTemperature;
    if (!reader.Call("gpu.memory_temperature_celsius", nvml.DeviceGetFieldValues, 1, &memory)) return;
    if (memory.result == kSuccess) reader.Add("gpu.memory_temperature_celsius", static_cast<double>(memory.value));
  }

  // A process that has just begun may be ours without our knowing yet; one that stays a second without being ours is
  // not.
  void ReadProcesses(Reader& reader) {
    constexpr unsigned kMost = 256;
    Process processes[kMost];
    unsigned count = kMost;
    const auto list = session_.library().DeviceGetComputeRunningProcesses;
    if (!reader.Call("gpu.foreign_processes", list, &count, processes)) return;
    std::set<unsigned>& suspected = suspected_[reader.gpu().uuid];
    std::set<unsigned> strangers;
    std::vector<std::string> foreign;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned pid = processes[i].pid;
      if (ours_->Judge(pid) != OurProcesses::Kind::kForeign) continue;
      strangers.insert(pid);
      if (suspected.count(pid) != 0) foreign.push_back(absl::StrCat(ours_->NameOf(pid), "[", pid, "]"));
    }
    suspected = std::move(strangers);
    reader.Add("gpu.foreign_processes", static_cast<double>(foreign.size()), absl::StrJoin(foreign, " "));
  }

  const std::shared_ptr<OurProcesses> ours_;
  Session session_;
  Lacks lacks_;
  std::map<std::string, absl::Time> numbers_read_;       // by GPU; never: the beginning of time
  std::map<std::string, std::set<unsigned>> suspected_;  // by GPU: not ours at the reading before
};

}  // namespace

std::unique_ptr<Source> MakeStateSource(std::shared_ptr<OurProcesses> ours) {
  return std::make_unique<StateSource>(std::move(ours));
}

}  // namespace sassay::monitor::nvml
