// GPUs without lanes, for tests of what acts on them.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_FAKE_GPUS_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_FAKE_GPUS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/pipeline/lanes/gpus.h"

namespace sassay::pipeline {

// Remembers which are closed and why, and counts their seats. Thread-safe; set the public members before the calls that
// they concern.
class FakeGpus : public Gpus {
 public:
  explicit FakeGpus(std::vector<std::string> names, uint32_t seats_each = 4)
      : names_(std::move(names)), seats_each_(seats_each) {}

  std::function<absl::StatusOr<sassay::v1::RunCanaryResponse>(absl::string_view gpu, absl::Duration wait)> canary =
      [](absl::string_view, absl::Duration) { return sassay::v1::RunCanaryResponse(); };
  std::function<absl::StatusOr<uint32_t>(absl::string_view gpu, absl::string_view why)> restart =
      [](absl::string_view, absl::string_view) { return 0; };
  std::vector<sassay::v1::GpuPulse> pulses;

  // So many more, or fewer, work there; Pulses tells.
  void AddRunning(const std::string& gpu, int by) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    running_[gpu] += by;
  }
  // Why a GPU is closed; empty if it is open.
  std::string closed(const std::string& gpu) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = closed_.find(gpu);
    return found == closed_.end() ? "" : found->second;
  }

  std::vector<sassay::v1::Gpu> List() const override {
    std::vector<sassay::v1::Gpu> gpus;
    for (const std::string& name : names_) {
      gpus.emplace_back().set_uuid(name);
      gpus.back().set_model("fake");
    }
    return gpus;
  }
  absl::Status Close(absl::string_view gpu, absl::string_view why) override {
    {
      absl::MutexLock lock(&mutex_);
      closed_[std::string(gpu)] = std::string(why);
    }
    Tell();
    return absl::OkStatus();
  }
  absl::Status Open(absl::string_view gpu) override {
    {
      absl::MutexLock lock(&mutex_);
      closed_.erase(std::string(gpu));
    }
    Tell();
    return absl::OkStatus();
  }
  uint32_t open_seats() const override {
    absl::MutexLock lock(&mutex_);
    return static_cast<uint32_t>(names_.size() - closed_.size()) * seats_each_;
  }
  void OnSeatsChange(std::function<void(uint32_t)> listener) override {
    absl::MutexLock lock(&listener_mutex_);
    listener_ = std::move(listener);
  }
  absl::StatusOr<uint32_t> RestartWorkers(absl::string_view gpu, absl::string_view why) override {
    return restart(gpu, why);
  }
  absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::string_view gpu, absl::Duration wait) override {
    return canary(gpu, wait);
  }
  std::vector<sassay::v1::GpuPulse> Pulses() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<sassay::v1::GpuPulse> told = pulses;
    for (const auto& [gpu, count] : running_) {
      told.emplace_back().set_uuid(gpu);
      told.back().set_running(static_cast<uint32_t>(count));
    }
    return told;
  }

 private:
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_, listener_mutex_) {
    absl::MutexLock lock(&listener_mutex_);
    if (listener_) listener_(open_seats());
  }

  const std::vector<std::string> names_;
  const uint32_t seats_each_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> closed_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> running_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex listener_mutex_;
  std::function<void(uint32_t)> listener_ ABSL_GUARDED_BY(listener_mutex_);
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_FAKE_GPUS_H_
