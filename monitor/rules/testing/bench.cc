#include "monitor/rules/testing/bench.h"

#include <algorithm>
#include <utility>

namespace sassay::monitor {
namespace {

constexpr double kTensorNs = 20e6;
constexpr double kMemoryNs = 19e6;

}  // namespace

Bench::Bench(int gpus, v1::MonitorConfig config)
    : config_(std::move(config)), gpus_(gpus), engine_(std::make_unique<Engine>(config_, "host")) {}

std::vector<Sample> Bench::Sampled(int gpu) {
  std::vector<Sample> samples;
  const std::string uuid = Gpu(gpu);
  const auto add = [&](const char* signal, double value, const char* text = "") {
    samples.push_back({steady_, uuid, signal, value, text});
  };
  // At full load under the power cap, which is no heat.
  const bool capped = (ticks_ / 50 + gpu) % 2 == 0;
  add("gpu.thermal_slowdown_seconds_total", 0);
  add("gpu.hw_slowdown_seconds_total", 0);
  add("gpu.clock_reasons", capped ? 0x4 : 0x1);
  // A reader has a share of time from its second reading on.
  if (nvml_read_ != absl::InfinitePast()) {
    add("gpu.thermal_slowdown_ratio", 0);
    add("gpu.hw_slowdown_ratio", 0);
  }
  if (ticks_ % every == 0) SampledState(add, capped);
  if (change) change(gpu, samples);
  return samples;
}

void Bench::SampledState(const std::function<void(const char*, double, const char*)>& add, bool capped) {
  std::normal_distribution<double> noise;
  add("gpu.temperature_celsius", 60 + 5 * noise(random_), "");
  add("gpu.thermal_margin_celsius", 27 + 2 * noise(random_), "");
  add("gpu.sm_clock_mhz", capped ? 1600 + 30 * noise(random_) : 1980, "");
  add("gpu.power_cap_ratio", capped ? 0.9 : 0, "");
  add("gpu.power_watts", capped ? 699 : 120, "");
  add("gpu.ecc_uncorrected_total", 0, "");
  add("gpu.ecc_corrected_total", 3, "");
  add("gpu.row_remap_pending", 0, "");
  add("gpu.row_remap_failed", 0, "");
  add("gpu.pcie_replay_total", static_cast<double>(ticks_ / 1000), "");
  add("gpu.foreign_processes", 0, "");
  add("gpu.lost", 0, "");
  if (ticks_ % 100 == 0) add("gpu.model", 1, "NVIDIA H200");
}

void Bench::SampledHost(std::vector<Sample>& samples) {
  const auto add = [&](const char* signal, double value, const char* text = "") {
    samples.push_back({steady_, "", signal, value, text});
  };
  const absl::Time read = nvml_read_ == absl::InfinitePast() ? steady_ : nvml_read_;
  add("source.silent_seconds", absl::ToDoubleSeconds(steady_ - read), "nvml");
  add("source.silent_seconds", 0.05, "kernel_log");
  add("service.silent_seconds", 0.1);
  add("host.disk_free_ratio", 0.5);
  add("host.memory_available_ratio", 0.6);
  add("host.load_per_cpu", 0.7);
  if (change_host) change_host(samples);
}

void Bench::Send(const std::string& gpu, const std::string& signal, double value, const std::string& text) {
  next_.push_back({steady_ + tick, gpu, signal, value, text});
}

void Bench::CarryOut(const Decision& decision) {
  const absl::Status status = answer ? answer(decision) : absl::OkStatus();
  if (status.ok()) {
    told_.push_back({steady_, decision});
    if (decision.kind == DecisionKind::kPause || decision.kind == DecisionKind::kQuarantine) held_.insert(decision.gpu);
    if (decision.kind == DecisionKind::kResume || decision.kind == DecisionKind::kRelease) held_.erase(decision.gpu);
  }
  if (status.ok() && decision.kind == DecisionKind::kRunCanary) {
    std::normal_distribution<double> noise(1, canary_noise);
    const double factor = slow ? slow(std::stoi(decision.gpu.substr(4))) : 1;
    Send(decision.gpu, "canary.tensor_ns", kTensorNs * factor * noise(random_));
    Send(decision.gpu, "canary.memory_ns", kMemoryNs * factor * noise(random_));
  }
  engine_->Acknowledge(decision.id, status, now());
}

void Bench::Tick() {
  steady_ += tick;
  std::vector<Sample> samples = std::exchange(next_, {});
  if (nvml_answers) {
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      for (Sample& sample : Sampled(gpu)) samples.push_back(std::move(sample));
    }
    nvml_read_ = steady_;
  }
  SampledHost(samples);
  ++ticks_;
  if (watch) watch(samples);
  engine_->Step(now(), samples);
  for (v1::JournalEntry& entry : engine_->TakeJournal()) {
    if (entry.has_incident()) {
      if (incidents_.count(entry.incident().id()) == 0) order_.push_back(entry.incident().id());
      incidents_[entry.incident().id()] = entry.incident();
    }
    journal_.push_back(std::move(entry));
  }
  // As a real journal: what was replaced goes.
  if (journal_.size() > 2000) journal_ = engine_->Snapshot();
  for (const Decision& decision : engine_->Due(now())) CarryOut(decision);
}

void Bench::Run(absl::Duration time) {
  const absl::Time end = steady_ + time;
  while (steady_ < end) Tick();
}

bool Bench::RunUntil(const std::function<bool()>& done, absl::Duration limit) {
  const absl::Time end = steady_ + limit;
  while (!done()) {
    if (steady_ >= end) return false;
    Tick();
  }
  return true;
}

void Bench::Kill(absl::Duration down) {
  engine_ = std::make_unique<Engine>(config_, "host");
  engine_->Restore(journal_);
  next_.clear();
  steady_ += down;
  nvml_read_ = absl::InfinitePast();
}

SubjectView Bench::View(int gpu) const {
  for (const SubjectView& view : engine_->View()) {
    if (view.gpu == Gpu(gpu)) return view;
  }
  return {};
}

SubjectView Bench::Host() const { return engine_->View().back(); }

v1::GpuState Bench::State(int gpu) const { return View(gpu).state; }

absl::Time Bench::HealthyThrough(int gpu) const {
  const absl::Time wall = View(gpu).healthy_through;
  return wall == absl::InfinitePast() ? wall : wall - wall_offset_;
}

std::vector<v1::Incident> Bench::Incidents(const std::string& rule) const {
  std::vector<v1::Incident> found;
  for (const std::string& id : order_) {
    const v1::Incident& incident = incidents_.at(id);
    if (rule.empty() || incident.rule() == rule) found.push_back(incident);
  }
  return found;
}

std::vector<Told> Bench::Of(DecisionKind kind, int gpu) const {
  std::vector<Told> found;
  for (const Told& told : told_) {
    if (told.decision.kind == kind && (gpu < 0 || told.decision.gpu == Gpu(gpu))) found.push_back(told);
  }
  return found;
}

}  // namespace sassay::monitor
