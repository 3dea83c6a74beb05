#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/due.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

// Cumulative counters of reasons that one call reads, and the signals that they feed.
struct Counter {
  unsigned field;
  const char* total;
  const char* ratio;
};
constexpr char kHardwareTotal[] = "gpu.hw_slowdown_seconds_total";
constexpr char kHardwareRatio[] = "gpu.hw_slowdown_ratio";

// The driver counts these two and answers from memory.
constexpr std::array<Counter, 2> kOfSoftware = {
    {{kFieldSoftwareThermalNs, "gpu.thermal_slowdown_seconds_total", "gpu.thermal_slowdown_ratio"},
     {kFieldPowerCapNs, "gpu.power_cap_seconds_total", "gpu.power_cap_ratio"}}};
// The GPU counts these, and is asked over the bus. NVML counts no time for its reason 0x8 (hardware slowdown), which is
// one of the two.
constexpr std::array<Counter, 2> kOfHardware = {
    {{kFieldHardwareThermalNs, kHardwareTotal, kHardwareRatio}, {kFieldPowerBrakeNs, kHardwareTotal, kHardwareRatio}}};

constexpr absl::Duration kIntroduceEvery = absl::Minutes(1);

// How often a GPU is read where work is at stake, and where none is. What calls cost on an H200 is in
// docs/measurements/2026-11-monitor.md: what the driver answers from memory takes microseconds, the counters of the
// hardware and the margin a millisecond each. Dispatch is paused for the reasons, and timings are final by them and by
// the counters of software; a counter of the hardware that moved excludes late what ran since it was read.
struct Pace {
  absl::Duration at_stake;
  absl::Duration idle;
  absl::Duration of(bool stake) const { return stake ? at_stake : idle; }
};
constexpr Pace kReasons = {kBeat, absl::Seconds(2)};
constexpr Pace kNumbers = {absl::Seconds(2), absl::Seconds(5)};
constexpr Pace kHardware = {absl::Seconds(10), absl::Seconds(30)};
constexpr Pace kMargin = {absl::Seconds(30), absl::Minutes(1)};
constexpr absl::Duration kSmallMarginEvery = absl::Seconds(3);
constexpr int kSmallMarginCelsius = 10;
// As long as a rule needs to believe that it is over, everything is read at each beat.
constexpr absl::Duration kWatchful = absl::Seconds(7);
// A reading that is so late tells of a time that nobody watched: all counters are asked what happened in it.
constexpr absl::Duration kLate = absl::Seconds(1);
// NVML's reasons that slow a GPU down for other causes than power capping or its settings.
constexpr unsigned long long kSlowdowns = 0xE8;

class ClockSource : public Source {
 public:
  ClockSource(std::shared_ptr<Session> session, std::shared_ptr<Directory> directory, std::shared_ptr<Stakes> stakes)
      : session_(std::move(session)), directory_(std::move(directory)), stakes_(std::move(stakes)) {}

  std::string name() const override { return "nvml"; }
  absl::Duration period() const override { return kBeat; }
  absl::Duration deadline() const override { return absl::Milliseconds(500); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    RETURN_IF_ERROR(session_->Open());
    std::vector<Sample> samples;
    samples.reserve(session_->gpus().size() * 16);
    for (const Gpu& gpu : session_->gpus()) ReadGpu(gpu, samples);
    Introduce(samples);
    return samples;
  }

 private:
  // Counters that are read together, as they were.
  struct Counted {
    absl::Time at = absl::InfinitePast();
    std::map<std::string, double> totals;
  };

  // What is remembered of a GPU between readings.
  struct Memory {
    absl::Time answered = SteadyNow();
    bool stake = false;
    absl::Time watchful_until = absl::InfinitePast();
    Due reasons, numbers, hardware, margin;
    Counted by_software, by_hardware;
    absl::optional<int> margin_celsius;  // as it was read
    int margin_at_celsius = 0;           // when it was
    bool threshold_asked = false;
    unsigned slowdown_celsius = 0;  // 0: unknown

    void Rush() {
      for (Due* due : {&reasons, &numbers, &hardware}) due->Rush();
    }
  };

  void Introduce(std::vector<Sample>& samples) {
    const absl::Time now = SteadyNow();
    if (now - introduced_ < kIntroduceEvery) return;
    introduced_ = now;
    directory_->Learn(session_->gpus());
    for (const Gpu& gpu : session_->gpus()) samples.push_back({now, gpu.uuid, "gpu.model", 1, gpu.model});
  }

  void ReadGpu(const Gpu& gpu, std::vector<Sample>& samples) {
    Memory& memory = memories_[gpu.uuid];
    const absl::Time now = SteadyNow();
    const bool stake = stakes_->Any(gpu.uuid, now);
    const bool begins = stake && !memory.stake;
    memory.stake = stake;
    if (begins || now < memory.watchful_until || memory.reasons.IsLate(now, kLate)) memory.Rush();
    if (!memory.reasons.Take(now, kReasons.of(stake))) return;
    Reader reader(session_->library(), gpu, lacks_, samples);
    ReadAll(reader, memory, now);
    if (reader.error().empty()) memory.answered = SteadyNow();
    reader.Add("gpu.lost", reader.lost() ? 1 : 0, reader.lost() ? reader.error() : "");
    if (reader.error().empty()) return;
    reader.Add("gpu.silent_seconds", absl::ToDoubleSeconds(SteadyNow() - memory.answered), reader.error());
  }

  void ReadAll(Reader& reader, Memory& memory, absl::Time now) {
    if (ReadReasons(reader)) {
      memory.watchful_until = now + kWatchful;
      memory.Rush();
    }
    if (ReadCounters(reader, kOfSoftware, memory.by_software)) memory.watchful_until = now + kWatchful;
    if (memory.numbers.Take(now, kNumbers.of(memory.stake))) {
      ReadClocks(reader);
      ReadTemperature(reader, memory, now);
    }
    if (!memory.hardware.Take(now, kHardware.of(memory.stake))) return;
    if (ReadCounters(reader, kOfHardware, memory.by_hardware)) memory.watchful_until = now + kWatchful;
  }

  // Whether the GPU is being slowed down.
  bool ReadReasons(Reader& reader) {
    unsigned long long reasons = 0;
    if (!reader.Call("gpu.clock_reasons", session_->library().DeviceGetClocksEventReasons, &reasons)) return false;
    reader.Add("gpu.clock_reasons", static_cast<double>(reasons));
    return (reasons & kSlowdowns) != 0;
  }

  void ReadClocks(Reader& reader) {
    const Library& nvml = session_->library();
    unsigned value = 0;
    if (reader.Call("gpu.sm_clock_mhz", nvml.DeviceGetClockInfo, kClockSm, &value)) {
      reader.Add("gpu.sm_clock_mhz", value);
    }
    if (reader.Call("gpu.memory_clock_mhz", nvml.DeviceGetClockInfo, kClockMemory, &value)) {
      reader.Add("gpu.memory_clock_mhz", value);
    }
    if (reader.Call("gpu.power_watts", nvml.DeviceGetPowerUsage, &value)) reader.Add("gpu.power_watts", value / 1000.0);
  }

  // The margin shrinks as the temperature grows: it is read again when half of it may be gone.
  void ReadTemperature(Reader& reader, Memory& memory, absl::Time now) {
    const Library& nvml = session_->library();
    unsigned value = 0;
    absl::optional<int> celsius;
    if (reader.Call("gpu.temperature_celsius", nvml.DeviceGetTemperature, kSensorGpu, &value)) {
      celsius = static_cast<int>(value);
      reader.Add("gpu.temperature_celsius", value);
    }
    const int eaten = celsius.value_or(memory.margin_at_celsius) - memory.margin_at_celsius;
    if (memory.margin_celsius && eaten > 0 && eaten >= *memory.margin_celsius / 2) memory.margin.Rush();
    const bool small = memory.margin_celsius.value_or(kSmallMarginCelsius) < kSmallMarginCelsius;
    if (!memory.margin.Take(now, small ? kSmallMarginEvery : kMargin.of(memory.stake))) return;
    memory.margin_at_celsius = celsius.value_or(0);
    memory.margin_celsius = ReadMargin(reader, memory, celsius);
    if (memory.margin_celsius) reader.Add("gpu.thermal_margin_celsius", *memory.margin_celsius);
  }

  // The GPU's own word, or its slow-down threshold less its temperature.
  absl::optional<int> ReadMargin(Reader& reader, Memory& memory, absl::optional<int> celsius) {
    const Library& nvml = session_->library();
    MarginTemperature margin;
    if (reader.Call("margin of its own", nvml.DeviceGetMarginTemperature, &margin)) return margin.celsius;
    if (!memory.threshold_asked) {
      memory.threshold_asked = true;
      reader.Call("slowdown threshold", nvml.DeviceGetTemperatureThreshold, kThresholdSlowdown,
                  &memory.slowdown_celsius);
    }
    if (!celsius || memory.slowdown_celsius == 0) return absl::nullopt;
    return static_cast<int>(memory.slowdown_celsius) - *celsius;
  }

  // A signal's total is the sum of its counters; where two were in force at once, a share of more than all is all.
  // Whether something other than the power cap was in force since the reading before.
  bool ReadCounters(Reader& reader, const std::array<Counter, 2>& counters, Counted& counted) {
    std::array<Field, 2> fields = {};
    for (size_t i = 0; i < fields.size(); ++i) fields[i].field = counters[i].field;
    const int count = static_cast<int>(fields.size());
    if (!reader.Call("counters of reasons", session_->library().DeviceGetFieldValues, count, fields.data()))
      return false;
    const absl::Time now = SteadyNow();
    std::map<std::string, std::pair<double, const char*>> totals;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].result != kSuccess) continue;
      auto& [seconds, ratio] = totals[counters[i].total];
      seconds += static_cast<double>(fields[i].value) * 1e-9;
      ratio = counters[i].ratio;
    }
    if (totals.empty()) lacks_.Say(reader.gpu(), counters[0].total, "this driver does not count it");
    bool moved = false;
    for (const auto& [signal, total] : totals) {
      const bool grew = AddTotal(reader, counted, signal, total.first, total.second, now);
      moved |= grew && signal != kOfSoftware[1].total;
    }
    counted.at = now;
    return moved;
  }

  static bool AddTotal(Reader& reader, Counted& counted, const std::string& signal, double seconds, const char* ratio,
                       absl::Time now) {
    const auto before = counted.totals.find(signal);
    reader.Add(signal.c_str(), seconds);
    double grown = 0;
    if (before != counted.totals.end()) {
      const double elapsed = absl::ToDoubleSeconds(now - counted.at);
      grown = std::max(0.0, seconds - before->second);
      reader.Add(ratio, elapsed > 0 ? std::min(1.0, grown / elapsed) : 0);
    }
    counted.totals[signal] = seconds;
    return grown > 0;
  }

  const std::shared_ptr<Session> session_;
  const std::shared_ptr<Directory> directory_;
  const std::shared_ptr<Stakes> stakes_;
  Lacks lacks_;
  absl::Time introduced_ = absl::InfinitePast();
  std::map<std::string, Memory> memories_;
};

}  // namespace

std::unique_ptr<Source> MakeClockSource(std::shared_ptr<Session> session, std::shared_ptr<Directory> directory,
                                        std::shared_ptr<Stakes> stakes) {
  return std::make_unique<ClockSource>(std::move(session), std::move(directory), std::move(stakes));
}

}  // namespace sassay::monitor::nvml
