// For tests: a store that does what another one does, to be overridden in one place.
#ifndef SASSAY_PROFILER_SERVICE_STORE_FORWARDING_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_FORWARDING_STORE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler_service/store/store.h"

namespace sassay::store {

// `real` outlives it.
class ForwardingStore : public Store {
 public:
  explicit ForwardingStore(Store& real) : real_(real) {}

  bool shared() const override { return real_.shared(); }
  std::unique_ptr<Watch> Observe(Observer observer) override { return real_.Observe(std::move(observer)); }

  void Submit(NewSubmission submission, Callback<Submitted> done) override {
    real_.Submit(std::move(submission), std::move(done));
  }
  absl::StatusOr<absl::optional<std::string>> FindEarlier(absl::string_view tenant,
                                                          const sassay::v1::ProfileRequest& request) override {
    return real_.FindEarlier(tenant, request);
  }
  void Acquire(const Asker& asker, absl::Time now, absl::Time expires_at,
               Callback<absl::optional<Lease>> done) override {
    real_.Acquire(asker, now, expires_at, std::move(done));
  }
  void Append(const Lease& lease, sassay::v1::Event event, Callback<sassay::v1::Event> done) override {
    real_.Append(lease, std::move(event), std::move(done));
  }
  void Finish(const Lease& lease, sassay::v1::Verdict verdict, const Ending& ending,
              Callback<std::vector<sassay::v1::Event>> done) override {
    real_.Finish(lease, std::move(verdict), ending, std::move(done));
  }
  void Return(const Lease& lease, absl::string_view reason, Ended ended, const Ending& ending, absl::Time now,
              Callback<sassay::v1::Event> done) override {
    real_.Return(lease, reason, ended, ending, now, std::move(done));
  }
  absl::StatusOr<std::vector<Renewal>> Renew(const std::vector<Lease>& leases, absl::Time expires_at) override {
    return real_.Renew(leases, expires_at);
  }
  void Cancel(absl::string_view tenant, absl::string_view id, sassay::v1::Verdict verdict,
              Callback<Cancellation> done) override {
    real_.Cancel(tenant, id, std::move(verdict), std::move(done));
  }
  void FinishQueued(absl::string_view id, sassay::v1::Verdict verdict, Callback<sassay::v1::Event> done) override {
    real_.FinishQueued(id, std::move(verdict), std::move(done));
  }
  absl::StatusOr<std::vector<Submission>> PastQueueDeadline(absl::Time now, int limit) override {
    return real_.PastQueueDeadline(now, limit);
  }
  absl::StatusOr<absl::Time> NextQueueDeadline() override { return real_.NextQueueDeadline(); }
  absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(absl::Time now) override { return real_.LeasesExpiredBy(now); }
  absl::StatusOr<Submission> Leased(const Lease& lease) override { return real_.Leased(lease); }
  absl::StatusOr<std::vector<Lease>> LeasesOf(absl::string_view prefix) override { return real_.LeasesOf(prefix); }
  absl::StatusOr<Submission> Get(absl::string_view tenant, absl::string_view id) override {
    return real_.Get(tenant, id);
  }
  absl::StatusOr<std::vector<sassay::v1::Event>> Events(absl::string_view id, uint64_t after, int limit) override {
    return real_.Events(id, after, limit);
  }
  absl::StatusOr<std::vector<ProgressOf>> Progress(const std::vector<std::string>& ids) override {
    return real_.Progress(ids);
  }
  absl::StatusOr<Depths> CountDepths() override { return real_.CountDepths(); }
  absl::StatusOr<int> Trim(absl::Time before, int limit) override { return real_.Trim(before, limit); }
  void Exclude(const BadWindow& window, uint32_t max_exclusions, absl::Time now, Callback<Exclusions> done) override {
    real_.Exclude(window, max_exclusions, now, std::move(done));
  }
  absl::StatusOr<std::vector<BadWindow>> OpenWindows() override { return real_.OpenWindows(); }
  absl::Status CloseWindows(absl::string_view gpu, absl::Time now) override { return real_.CloseWindows(gpu, now); }
  absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(absl::string_view tenant, absl::Time from, uint64_t after,
                                                           int limit) override {
    return real_.ExcludedSince(tenant, from, after, limit);
  }
  absl::StatusOr<uint64_t> LastExcluded() override { return real_.LastExcluded(); }
  absl::StatusOr<std::vector<Attempt>> AttemptsOn(absl::string_view gpu, absl::Time from, absl::Time to) override {
    return real_.AttemptsOn(gpu, from, to);
  }
  absl::StatusOr<std::vector<Attempt>> AttemptsOf(absl::string_view id) override { return real_.AttemptsOf(id); }
  void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                    Callback<sassay::v1::Event> done) override {
    real_.SettleTiming(id, attempt, warning, now, std::move(done));
  }
  absl::StatusOr<std::vector<Provisional>> Provisionals() override { return real_.Provisionals(); }
  absl::Status PlaceHold(const Hold& hold) override { return real_.PlaceHold(hold); }
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override {
    return real_.LiftHold(gpu, holder);
  }
  absl::StatusOr<std::vector<Hold>> Holds() override { return real_.Holds(); }
  absl::Status RecordIncident(const sassay::v1::Incident& incident) override { return real_.RecordIncident(incident); }
  absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after, int limit) override {
    return real_.IncidentsSince(from, after, limit);
  }
  absl::StatusOr<uint64_t> LastIncident() override { return real_.LastIncident(); }
  absl::Status SetWeight(absl::string_view tenant, uint32_t weight) override { return real_.SetWeight(tenant, weight); }
  absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(absl::string_view tenant, absl::Time now) override {
    return real_.Usage(tenant, now);
  }
  absl::Status PutNode(const NodeRecord& node) override { return real_.PutNode(node); }
  absl::Status DropNode(absl::string_view name, absl::string_view instance) override {
    return real_.DropNode(name, instance);
  }
  absl::StatusOr<std::vector<NodeRecord>> Nodes() override { return real_.Nodes(); }
  absl::Status Audit(const AuditRecord& record) override { return real_.Audit(record); }
  absl::StatusOr<std::vector<AuditRecord>> AuditLog(uint64_t after, int limit) override {
    return real_.AuditLog(after, limit);
  }

 private:
  Store& real_;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_FORWARDING_STORE_H_
