// A bench for the engine in tests: time that is told, GPUs that send what real ones send, and a service that answers.
#ifndef SASSAY_MONITOR_RULES_TESTING_BENCH_H_
#define SASSAY_MONITOR_RULES_TESTING_BENCH_H_

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "monitor/rules/config.h"
#include "monitor/rules/engine.h"

namespace sassay::monitor {

// What the service was told, as it keeps it.
struct Told {
  absl::Time at;  // steady
  Decision decision;
};

// One host with GPUs, sampled every `tick`. Thread-compatible. Everything is healthy unless a test says otherwise by
// `add` (samples besides) or `change` (the samples themselves).
class Bench {
 public:
  explicit Bench(int gpus, v1::MonitorConfig config = DefaultConfig());

  // Moves time on, tick by tick.
  void Run(absl::Duration time);
  // Until `done`; false if it was not within `limit`.
  bool RunUntil(const std::function<bool()>& done, absl::Duration limit);
  void Tick();
  // Samples of the next tick.
  void Send(const std::string& gpu, const std::string& signal, double value, const std::string& text = "");
  // The monitor is killed (what it had not written is lost) and started again `down` later.
  void Kill(absl::Duration down);
  // The wall clock is set.
  void SetWallClock(absl::Duration by) { wall_offset_ += by; }

  Engine& engine() { return *engine_; }
  Now now() const { return {steady_, steady_ + wall_offset_}; }
  static std::string Gpu(int index) { return "GPU-" + std::to_string(index); }
  v1::GpuState State(int gpu) const;
  SubjectView View(int gpu) const;
  SubjectView Host() const;
  // Newest revision of each incident that the engine made, by id, in order.
  std::vector<v1::Incident> Incidents(const std::string& rule = "") const;
  std::vector<Told> Of(DecisionKind kind, int gpu = -1) const;
  // As the service has it now.
  bool Held(int gpu) const { return held_.count(Gpu(gpu)) != 0; }
  // By the steady clock.
  absl::Time HealthyThrough(int gpu) const;
  const std::vector<v1::JournalEntry>& journal() const { return journal_; }

  // Knobs.
  absl::Duration tick = absl::Milliseconds(200);
  // What does not change by the moment (temperature, memory errors) comes with every so many ticks.
  uint64_t every = 1;
  std::function<void(int gpu, std::vector<Sample>& samples)> change;
  std::function<void(std::vector<Sample>& samples)> change_host;
  // How much slower the canary is, and its noise.
  std::function<double(int gpu)> slow;
  double canary_noise = 0.002;
  // What the service answers; default OK.
  std::function<absl::Status(const Decision&)> answer;
  bool nvml_answers = true;
  // Sees the samples of each tick.
  std::function<void(const std::vector<Sample>&)> watch;

 private:
  std::vector<Sample> Sampled(int gpu);
  void SampledState(const std::function<void(const char*, double, const char*)>& add, bool capped);
  void SampledHost(std::vector<Sample>& samples);
  void CarryOut(const Decision& decision);

  const v1::MonitorConfig config_;
  const int gpus_;
  absl::Time steady_ = absl::FromUnixSeconds(1'000'000);
  absl::Time nvml_read_ = absl::InfinitePast();
  absl::Duration wall_offset_ = absl::Hours(24 * 365 * 50);
  std::unique_ptr<Engine> engine_;
  std::mt19937_64 random_{20261130};
  std::vector<Sample> next_;
  std::vector<Told> told_;
  std::set<std::string> held_;
  std::vector<std::string> order_;
  std::map<std::string, v1::Incident> incidents_;
  std::vector<v1::JournalEntry> journal_;
  uint64_t ticks_ = 0;
};

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_TESTING_BENCH_H_
