// What tests and benchmarks of the queue and the api share.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_TESTING_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_TESTING_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/queue/queue.h"

namespace sassay::queue {

// A well-formed request.
sassay::v1::ProfileRequest RequestOf(const std::string& request_id);

sassay::v1::Verdict CorrectVerdict();
sassay::v1::Verdict InfraVerdict(sassay::v1::VerdictCode code, const std::string& reason);

absl::StatusOr<store::Submitted> SubmitAndWait(Queue& queue, const std::string& tenant,
                                               const sassay::v1::ProfileRequest& request);

// Follows a submission and blocks until its verdict.
class Watcher {
 public:
  Watcher(Queue& queue, const std::string& tenant, const std::string& id, uint64_t after);
  std::vector<sassay::v1::Event> ReadAll();

 private:
  struct Bell {
    absl::Mutex mutex;
    bool rung ABSL_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::shared_ptr<Subscription> subscription_;
};

std::vector<sassay::v1::Event> WaitForEvents(Queue& queue, const std::string& tenant, const std::string& id);
sassay::v1::Verdict WaitForVerdict(Queue& queue, const std::string& tenant, const std::string& id);

// A runner that does what the test says; by default everything is correct.
class FakeRunner : public JobRunner {
 public:
  explicit FakeRunner(uint32_t concurrency) : concurrency_(concurrency) {}
  sassay::v1::Verdict Run(const Job& job, JobObserver& observer) override { return run(job, observer); }
  uint32_t concurrency() const override { return concurrency_; }

  std::function<sassay::v1::Verdict(const Job&, JobObserver&)> run = [](const Job&, JobObserver&) {
    return CorrectVerdict();
  };

 private:
  const uint32_t concurrency_;
};

inline absl::StatusOr<std::string> ReadNothing(const store::Lease&) { return std::string(); }

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_TESTING_H_
