#include "monitor/actions/health_reporter.h"

#include <utility>

#include "common/base/steady_time.h"
#include "google/protobuf/util/message_differencer.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kBetween = absl::Milliseconds(100);
constexpr absl::Duration kSayAgain = absl::Seconds(1);

bool SameWord(const v1::ReportHealthRequest& a, const v1::ReportHealthRequest& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

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
  set_ = true;
}

absl::Status HealthReporter::last() const {
  absl::MutexLock lock(&mutex_);
  return last_;
}

void HealthReporter::Run() {
  const auto stopping = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_; };
  const auto wanted = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || set_; };
  v1::ReportHealthRequest said;
  absl::Time said_at = absl::InfinitePast();
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (AwaitUntil(mutex_, absl::Condition(&stopping), said_at + kBetween)) return;
      mutex_.Await(absl::Condition(&wanted));
      if (stopping_) return;
      set_ = false;
      if (last_.ok() && SteadyNow() - said_at < kSayAgain && SameWord(said, newest_)) continue;
      said = newest_;
    }
    said_at = SteadyNow();
    absl::Status answered = report_(said);
    absl::MutexLock lock(&mutex_);
    last_ = std::move(answered);
  }
}

}  // namespace sassay::monitor
