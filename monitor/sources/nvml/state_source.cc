#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/due.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

// Other people's processes are looked for while work is at stake, and less often while none is. Errors of the memory
// are told by Xids at once. PCIe replays take half a millisecond on an H200.
constexpr absl::Duration kProcessesEvery = absl::Seconds(2);  // five beats
constexpr absl::Duration kProcessesOfIdleEvery = absl::Seconds(5);
constexpr absl::Duration kErrorsEvery = absl::Seconds(5);
constexpr absl::Duration kNumbersEvery = absl::Seconds(10);
constexpr absl::Duration kReplaysEvery = absl::Seconds(20);
// A reading that is so late tells of a time that nobody watched.
constexpr absl::Duration kLate = absl::Seconds(2);

class StateSource : public Source {
 public:
  StateSource(std::shared_ptr<Session> session, std::shared_ptr<OurProcesses> ours, std::shared_ptr<Stakes> stakes)
      : session_(std::move(session)), ours_(std::move(ours)), stakes_(std::move(stakes)) {}

  std::string name() const override { return "nvml_state"; }
  absl::Duration period() const override { return kProcessesEvery; }
  absl::Duration deadline() const override { return absl::Seconds(3); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    RETURN_IF_ERROR(session_->Open());
    std::vector<Sample> samples;
    for (const Gpu& gpu : session_->gpus()) ReadGpu(gpu, samples);
    return samples;
  }

 private:
  // What is remembered of a GPU between readings.
  struct Memory {
    bool stake = false;
    Due processes, errors, numbers, replays;
    std::set<unsigned> suspected;  // not ours at the reading before
  };

  void ReadGpu(const Gpu& gpu, std::vector<Sample>& samples) {
    Memory& memory = memories_[gpu.uuid];
    const absl::Time now = SteadyNow();
    const bool stake = stakes_->Any(gpu.uuid, now);
    if (memory.processes.IsLate(now, kLate)) memory.errors.Rush();
    if (stake && !memory.stake) memory.processes.Rush();
    memory.stake = stake;
    Reader reader(session_->library(), gpu, lacks_, samples);
    if (memory.errors.Take(now, kErrorsEvery)) ReadMemoryErrors(reader);
    if (memory.numbers.Take(now, kNumbersEvery)) {
      ReadRemaps(reader);
      ReadNumbers(reader);
    }
    if (memory.replays.Take(now, kReplaysEvery)) ReadReplays(reader);
    if (!memory.processes.Take(now, stake ? kProcessesEvery : kProcessesOfIdleEvery)) return;
    // A suspect is known one reading later; that one comes soon.
    if (ReadProcesses(reader, memory)) memory.processes.Rush();
  }

  void ReadMemoryErrors(Reader& reader) {
    const Library& nvml = session_->library();
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
    if (reader.Call("gpu.row_remap_pending", session_->library().DeviceGetRemappedRows, &correctable, &uncorrectable,
                    &pending, &failed)) {
      reader.Add("gpu.row_remap_pending", pending);
      reader.Add("gpu.row_remap_failed", failed);
    }
  }

  void ReadNumbers(Reader& reader) {
    const Library& nvml = session_->library();
    unsigned value = 0;
    Utilization utilization = {};
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

  void ReadReplays(Reader& reader) {
    unsigned count = 0;
    if (!reader.Call("gpu.pcie_replay_total", session_->library().DeviceGetPcieReplayCounter, &count)) return;
    reader.Add("gpu.pcie_replay_total", count);
  }

  // A process that has just begun may be ours without our knowing yet; one that is there at the next reading without
  // being ours is not. Between the two nothing is said, so that the last good word is that of before it came. Whether
  // there are any that are not ours.
  bool ReadProcesses(Reader& reader, Memory& memory) {
    constexpr unsigned kMost = 256;
    Process processes[kMost];
    unsigned count = kMost;
    const auto list = session_->library().DeviceGetComputeRunningProcesses;
    if (!reader.Call("gpu.foreign_processes", list, &count, processes)) return false;
    std::set<unsigned> strangers;
    std::vector<std::string> foreign;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned pid = processes[i].pid;
      if (ours_->Judge(pid) != OurProcesses::Kind::kForeign) continue;
      strangers.insert(pid);
      if (memory.suspected.count(pid) != 0) foreign.push_back(absl::StrCat(ours_->NameOf(pid), "[", pid, "]"));
    }
    memory.suspected = std::move(strangers);
    const bool undecided = foreign.empty() && !memory.suspected.empty();
    if (!undecided) {
      reader.Add("gpu.foreign_processes", static_cast<double>(foreign.size()), absl::StrJoin(foreign, " "));
    }
    return !memory.suspected.empty();
  }

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<OurProcesses> ours_;
  const std::shared_ptr<Stakes> stakes_;
  Lacks lacks_;
  std::map<std::string, Memory> memories_;  // by GPU
};

}  // namespace

std::unique_ptr<Source> MakeStateSource(std::shared_ptr<Session> session, std::shared_ptr<OurProcesses> ours,
                                        std::shared_ptr<Stakes> stakes) {
  return std::make_unique<StateSource>(std::move(session), std::move(ours), std::move(stakes));
}

}  // namespace sassay::monitor::nvml
