#include "profiler_service/queue/dispatcher.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "profiler_service/queue/own_verdicts.h"

namespace sassay::queue {

Dispatcher::Dispatcher(Queue& queue, JobRunner& runner, BundleReader read_bundle, ArtifactKeeper keep_artifact)
    : queue_(queue), runner_(runner), read_bundle_(std::move(read_bundle)), keep_artifact_(std::move(keep_artifact)) {
  const int count = static_cast<int>(std::max<uint32_t>(1, runner.concurrency()));
  {
    absl::MutexLock lock(&mutex_);
    working_ = count;
  }
  for (int i = 0; i < count; ++i) workers_.emplace_back([this] { Work(); });
}

Dispatcher::~Dispatcher() { Drain(absl::ZeroDuration()); }

void Dispatcher::Drain(absl::Duration patience) {
  queue_.Stop();
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return working_ == 0; };
  bool drained;
  {
    absl::MutexLock lock(&mutex_);
    drained = mutex_.AwaitWithTimeout(absl::Condition(&idle), patience);
  }
  if (!drained) queue_.InterruptAll();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void Dispatcher::Work() {
  while (const std::shared_ptr<RunningJob> job = queue_.Next()) queue_.Conclude(*job, Run(*job));
  absl::MutexLock lock(&mutex_);
  --working_;
}

sassay::v1::Verdict Dispatcher::Run(RunningJob& running) {
  const store::Submission& submission = running.lease().submission;
  if (!submission.readable) {
    return OwnVerdict(submission.request, sassay::v1::VERDICT_STATUS_INFRA_ERROR, sassay::v1::VERDICT_CODE_INTERNAL,
                      "the stored request cannot be read any more; submit again", submission.attempt, absl::Now());
  }
  absl::StatusOr<std::string> bundle = read_bundle_(running.lease());
  if (!bundle.ok()) {
    return OwnVerdict(submission.request, sassay::v1::VERDICT_STATUS_INFRA_ERROR, sassay::v1::VERDICT_CODE_INTERNAL,
                      absl::StrCat("the uploaded bundle cannot be read: ", bundle.status().message()),
                      submission.attempt, absl::Now());
  }
  Job job{submission.id,
          submission.tenant,
          submission.request,
          *std::move(bundle),
          submission.attempt,
          running.deadline(),
          queue_.EarlierDevices(submission)};
  if (keep_artifact_) {
    job.keep_artifact = [this, &running](absl::string_view bytes) { return keep_artifact_(running.lease(), bytes); };
  }
  return runner_.Run(job, running);
}

}  // namespace sassay::queue
