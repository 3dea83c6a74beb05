#include "monitor/actions/health_reporter.h"

#include <utility>

#include "common/base/steady_time.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kEvery = absl::Milliseconds(200);
constexpr absl::Duration kStale = absl::Seconds(2);

}  // namespace

HealthReporter::HealthReporter(std::string instance, ReportHealth report)
    : instance_(std::move(instance)), report_(std::move(report)), thread_([this] { Run(); }) {}

HealthReporter::~HealthReporter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void HealthReporter::Set(v1::ReportHealthRequest report) {
  absl::MutexLock lock(&mutex_);
  newest_ = std::move(report);
  newest_.set_instance(instance_);
  set_at_ = SteadyNow();
}

absl::Status HealthReporter::last() const {
  absl::MutexLock lock(&mutex_);
  return last_;
}

void HealthReporter::Run() {
  const auto stopping = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_; };
  for (absl::Time next = SteadyNow();; next = std::max(next + kEvery, SteadyNow())) {
    v1::ReportHealthRequest report;
    bool fresh = false;
    {
      absl::MutexLock lock(&mutex_);
      if (AwaitUntil(mutex_, absl::Condition(&stopping), next)) return;
      fresh = SteadyNow() - set_at_ < kStale;
      if (fresh) report = newest_;
    }
    if (!fresh) continue;
    absl::Status said = report_(report);
    absl::MutexLock lock(&mutex_);
    last_ = std::move(said);
  }
}

}  // namespace sassay::monitor
