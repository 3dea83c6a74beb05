#include "profiler_service/queue/queue_testing.h"

#include <gtest/gtest.h>

namespace sassay::queue {

using sassay::v1::Event;
using sassay::v1::Verdict;

sassay::v1::ProfileRequest RequestOf(const std::string& request_id) {
  sassay::v1::ProfileRequest request;
  request.set_request_id(request_id);
  request.set_bundle_sha256(std::string(64, 'a'));
  request.set_workload("gemm_n256_k256/M=256");
  return request;
}

Verdict CorrectVerdict() {
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_CORRECT);
  verdict.set_code(sassay::v1::VERDICT_CODE_OK);
  return verdict;
}

Verdict InfraVerdict(sassay::v1::VerdictCode code, const std::string& reason) {
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_INFRA_ERROR);
  verdict.set_code(code);
  verdict.set_reason(reason);
  return verdict;
}

absl::StatusOr<store::Submitted> SubmitAndWait(Queue& queue, const std::string& tenant,
                                               const sassay::v1::ProfileRequest& request) {
  return store::Await<store::Submitted>(
      [&](store::Callback<store::Submitted> done) { queue.Submit(tenant, request, std::move(done)); });
}

Watcher::Watcher(Queue& queue, const std::string& tenant, const std::string& id, uint64_t after) {
  auto subscription = queue.Subscribe(tenant, id, after, [bell = bell_] {
    absl::MutexLock lock(&bell->mutex);
    bell->rung = true;
  });
  EXPECT_TRUE(subscription.ok()) << subscription.status();
  if (subscription.ok()) subscription_ = *std::move(subscription);
}

std::vector<Event> Watcher::ReadAll() {
  std::vector<Event> events;
  while (subscription_ != nullptr && !subscription_->ended()) {
    const auto event = subscription_->TryNext();
    EXPECT_TRUE(event.ok()) << event.status();
    if (!event.ok()) break;
    if (event->has_value()) {
      events.push_back(**event);
      continue;
    }
    absl::MutexLock lock(&bell_->mutex, absl::Condition(&bell_->rung));
    bell_->rung = false;
  }
  return events;
}

std::vector<Event> WaitForEvents(Queue& queue, const std::string& tenant, const std::string& id) {
  return Watcher(queue, tenant, id, 0).ReadAll();
}

Verdict WaitForVerdict(Queue& queue, const std::string& tenant, const std::string& id) {
  const std::vector<Event> events = WaitForEvents(queue, tenant, id);
  return events.empty() ? Verdict() : events.back().verdict();
}

}  // namespace sassay::queue
