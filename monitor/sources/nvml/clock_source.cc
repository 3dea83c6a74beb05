#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/types/optional.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "monitor/sources/nvml/reader.h"
#include "monitor/sources/nvml/sources.h"

namespace sassay::monitor::nvml {
namespace {

// A cumulative counter of a reason, and the signals that it feeds.
struct Counter {
  unsigned field;
  const char* total;
  const char* ratio;
};
constexpr char kThermalTotal[] = "gpu.thermal_slowdown_seconds_total";
constexpr char kThermalRatio[] = "gpu.thermal_slowdown_ratio";
constexpr char kHardwareTotal[] = "gpu.hw_slowdown_seconds_total";
constexpr char kHardwareRatio[] = "gpu.hw_slowdown_ratio";
constexpr char kPowerCapTotal[] = "gpu.power_cap_seconds_total";
constexpr char kPowerCapRatio[] = "gpu.power_cap_ratio";

// NVML counts no time for its reason 0x8 (hardware slowdown), which is one of the two hardware ones here.
constexpr std::array<Counter, 5> kCounters = {{{kFieldSoftwareThermalNs, kThermalTotal, kThermalRatio},
                                               {kFieldHardwareThermalNs, kThermalTotal, kThermalRatio},
                                               {kFieldHardwareThermalNs, kHardwareTotal, kHardwareRatio},
                                               {kFieldPowerBrakeNs, kHardwareTotal, kHardwareRatio},
                                               {kFieldPowerCapNs, kPowerCapTotal, kPowerCapRatio}}};
constexpr std::array<unsigned, 4> kFields = {kFieldSoftwareThermalNs, kFieldHardwareThermalNs, kFieldPowerBrakeNs,
                                             kFieldPowerCapNs};

constexpr absl::Duration kIntroduceEvery = absl::Minutes(1);

// What calls cost on an H200 is in docs/measurements/2026-11-monitor.md. In a loop clocks, reasons, power and
// temperature take 0.3 us each, as the driver answers from memory; a few times a second each costs about 0.1 ms, for
// the driver refreshes that memory when somebody asks. The counters of the hardware take 0.4 to 0.6 ms and the margin
// 0.5 to 0.9 ms, spent spinning. The reasons are what dispatch is paused for; numbers for people may be a second old.
constexpr absl::Duration kReasonsEvery = absl::Milliseconds(200);
constexpr absl::Duration kNumbersEvery = absl::Seconds(1);
constexpr absl::Duration kCountEvery = absl::Milliseconds(700);
// The margin moves with the temperature, which is read each time.
constexpr int kMarginStepCelsius = 2;
constexpr absl::Duration kMarginEvery = absl::Seconds(8);
constexpr absl::Duration kSmallMarginEvery = absl::Seconds(3);
constexpr int kSmallMarginCelsius = 15;
// NVML's reasons that slow a GPU down for other causes than power capping or its settings.
constexpr unsigned long long kSlowdowns = 0xE8;

class ClockSource : public Source {
 public:
  explicit ClockSource(std::shared_ptr<Directory> directory) : directory_(std::move(directory)) {}

  std::string name() const override { return "nvml"; }
  absl::Duration period() const override { return kReasonsEvery; }
  absl::Duration deadline() const override { return absl::Milliseconds(500); }

  absl::StatusOr<std::vector<Sample>> Read() override {
    const bool first = session_.gpus().empty();
    RETURN_IF_ERROR(session_.Open());
    // NVML's start leaves megabytes that it does not use any more.
    if (first) malloc_trim(0);
    std::vector<Sample> samples;
    samples.reserve(session_.gpus().size() * 16);
    for (const Gpu& gpu : session_.gpus()) ReadGpu(gpu, samples);
    Introduce(samples);
    return samples;
  }

 private:
  // What is remembered of a GPU between readings.
  struct Memory {
    absl::Time answered = SteadyNow();
    absl::Time counted = absl::InfinitePast();
    absl::Time next_margin = absl::InfinitePast();
    int margin_at_celsius = 0;
    absl::Time numbers = absl::InfinitePast();
    bool slowed = false;  // one of kSlowdowns is in force, or was at the reading before
    std::map<std::string, double> totals;
    bool threshold_asked = false;
    unsigned slowdown_celsius = 0;  // 0: unknown
  };

  void Introduce(std::vector<Sample>& samples) {
    const absl::Time now = SteadyNow();
    if (now - introduced_ < kIntroduceEvery) return;
    introduced_ = now;
    directory_->Learn(session_.gpus());
    for (const Gpu& gpu : session_.gpus()) samples.push_back({now, gpu.uuid, "gpu.model", 1, gpu.model});
  }

  void ReadGpu(const Gpu& gpu, std::vector<Sample>& samples) {
    Memory& memory = memories_[gpu.uuid];
    Reader reader(session_.library(), gpu, lacks_, samples);
    const absl::Time now = SteadyNow();
    const bool slowed = ReadReasons(reader);
    const bool soon = slowed || memory.slowed;
    if (soon || now - memory.numbers >= kNumbersEvery) {
      memory.numbers = now;
      ReadClocks(reader);
      ReadTemperature(reader, memory);
    }
    if (soon || now - memory.counted >= kCountEvery) ReadCounters(reader, memory);
    memory.slowed = slowed;
    if (reader.error().empty()) memory.answered = SteadyNow();
    reader.Add("gpu.lost", reader.lost() ? 1 : 0, reader.lost() ? reader.error() : "");
    if (reader.error().empty()) return;
    reader.Add("gpu.silent_seconds", absl::ToDoubleSeconds(SteadyNow() - memory.answered), reader.error());
  }

  // Whether the GPU is being slowed down.
  bool ReadReasons(Reader& reader) {
    unsigned long long reasons = 0;
    if (!reader.Call("gpu.clock_reasons", session_.library().DeviceGetClocksEventReasons, &reasons)) return false;
    reader.Add("gpu.clock_reasons", static_cast<double>(reasons));
    return (reasons & kSlowdowns) != 0;
  }

  void ReadClocks(Reader& reader) {
    const Library& nvml = session_.library();
    unsigned value = 0;
    if (reader.Call("gpu.sm_clock_mhz", nvml.DeviceGetClockInfo, kClockSm, &value)) {
      reader.Add("gpu.sm_clock_mhz", value);
    }
    if (reader.Call("gpu.memory_clock_mhz", nvml.DeviceGetClockInfo, kClockMemory, &value)) {
      reader.Add("gpu.memory_clock_mhz", value);
    }
    if (reader.Call("gpu.power_watts", nvml.DeviceGetPowerUsage, &value)) reader.Add("gpu.power_watts", value / 1000.0);
  }

  void ReadTemperature(Reader& reader, Memory& memory) {
    const Library& nvml = session_.library();
    unsigned celsius = 0;
    const bool known = reader.Call("gpu.temperature_celsius", nvml.DeviceGetTemperature, kSensorGpu, &celsius);
    if (known) reader.Add("gpu.temperature_celsius", celsius);
    const absl::Time now = SteadyNow();
    const bool moved = known && std::abs(static_cast<int>(celsius) - memory.margin_at_celsius) >= kMarginStepCelsius;
    if (now < memory.next_margin && !moved) return;
    memory.margin_at_celsius = static_cast<int>(celsius);
    const absl::optional<int> margin = ReadMargin(reader, memory, known ? absl::optional<int>(celsius) : absl::nullopt);
    if (margin) reader.Add("gpu.thermal_margin_celsius", *margin);
    memory.next_margin = now + (margin && *margin < kSmallMarginCelsius ? kSmallMarginEvery : kMarginEvery);
  }

  // The GPU's own word, or its slow-down threshold less its temperature.
  absl::optional<int> ReadMargin(Reader& reader, Memory& memory, absl::optional<int> celsius) {
    const Library& nvml = session_.library();
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
  void ReadCounters(Reader& reader, Memory& memory) {
    Field fields[kFields.size()] = {};
    for (size_t i = 0; i < kFields.size(); ++i) fields[i].field = kFields[i];
    const int count = static_cast<int>(kFields.size());
    if (!reader.Call("counters of reasons", session_.library().DeviceGetFieldValues, count, fields)) return;
    const absl::Time now = SteadyNow();
    std::map<std::string, std::pair<double, const char*>> totals;
    for (const Counter& counter : kCounters) {
      for (const Field& field : fields) {
        if (field.field != counter.field || field.result != kSuccess) continue;
        auto& [seconds, ratio] = totals[counter.total];
        seconds += static_cast<double>(field.value) * 1e-9;
        ratio = counter.ratio;
      }
    }
    if (totals.empty()) lacks_.Say(reader.gpu(), "counters of reasons", "this driver counts none");
    for (const auto& [signal, total] : totals) AddTotal(reader, memory, signal, total.first, total.second, now);
    memory.counted = now;
  }

  void AddTotal(Reader& reader, Memory& memory, const std::string& signal, double seconds, const char* ratio,
                absl::Time now) {
    const auto before = memory.totals.find(signal);
    reader.Add(signal.c_str(), seconds);
    if (before != memory.totals.end()) {
      const double elapsed = absl::ToDoubleSeconds(now - memory.counted);
      const double grown = std::max(0.0, seconds - before->second);
      reader.Add(ratio, elapsed > 0 ? std::min(1.0, grown / elapsed) : 0);
    }
    memory.totals[signal] = seconds;
  }

  const std::shared_ptr<Directory> directory_;
  Session session_;
  Lacks lacks_;
  absl::Time introduced_ = absl::InfinitePast();
  std::map<std::string, Memory> memories_;
};

}  // namespace

std::unique_ptr<Source> MakeClockSource(std::shared_ptr<Directory> directory) {
  return std::make_unique<ClockSource>(std::move(directory));
}

}  // namespace sassay::monitor::nvml
