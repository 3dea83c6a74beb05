// The store as a node has it: a front end's.
//
// Why: a node sits behind Slurm or NAT, holds no password of a database, and must be no worse than a loss of its own
// leases. So it has the same Store that the service has on one machine, whose every method is a call of
// sassay.v1.Cluster, and queue, dispatcher and pipeline run on it unchanged.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_STORE_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/cluster/front_ends.h"
#include "profiler_service/cluster/remote_writer.h"
#include "profiler_service/store/sql/echo_announcer.h"
#include "profiler_service/store/store.h"

namespace sassay::cluster {

struct RemoteStoreOptions {
  // How long a read or a write is tried, at one front end after the other, before it is UNAVAILABLE. Shorter than a
  // lease: who cannot reach anybody must know before its leases are given to others.
  absl::Duration patience = absl::Seconds(10);
};

// Thread-safe; `front_ends`, which is registered, outlives it.
//
// What differs from a database:
//   - Who asks for work, and what it can run, the front end knows from its registration: of an Asker the models and
//     states are read.
//   - A lease's owner is a number; what it is at the front end (token, node, instance, number) nobody else can name.
//   - Windows, provisional timings, holds and incidents are those of this node's GPUs. A hold of "all" GPUs is one of
//     all of this node; what is held for the whole cluster has a holder that begins with "cluster " and is lifted at a
//     front end.
//   - Expired leases, queue deadlines and old verdicts are the front ends' to look after: LeasesExpiredBy and
//     PastQueueDeadline have none, NextQueueDeadline never comes, Trim forgets nothing.
//   - UNIMPLEMENTED, because a node has no clients and keeps no books: Submit, FindEarlier, Cancel, FinishQueued,
//   Leased,
//     LeasesOf, Get, Progress, ExcludedSince, LastExcluded, AttemptsOn, AttemptsOf, Usage, AuditLog, PutNode, DropNode,
//     Nodes, SetWeight.
//   - Events are those of submissions whose lease is held here; of any other FAILED_PRECONDITION.
//   - An audit record whose answer was lost may stand twice.
// UNAVAILABLE does not say that nothing was changed. Whoever makes the same write again is answered as the first time,
// whatever became of that; a Return after a Finish whose answer was lost, or the other way round, is ABORTED.
class RemoteStore : public store::Store {
 public:
  RemoteStore(FrontEnds& front_ends, RemoteStoreOptions options = {});
  ~RemoteStore() override;

  bool shared() const override { return true; }
  std::unique_ptr<store::Watch> Observe(store::Observer observer) override;

  void Submit(store::NewSubmission submission, store::Callback<store::Submitted> done) override;
  absl::StatusOr<absl::optional<std::string>> FindEarlier(absl::string_view tenant,
                                                          const sassay::v1::ProfileRequest& request) override;
  void Acquire(const store::Asker& asker, absl::Time now, absl::Time expires_at,
               store::Callback<absl::optional<store::Lease>> done) override;
  void Append(const store::Lease& lease, sassay::v1::Event event, store::Callback<sassay::v1::Event> done) override;
  void Finish(const store::Lease& lease, sassay::v1::Verdict verdict, const store::Ending& ending,
              store::Callback<std::vector<sassay::v1::Event>> done) override;
  void Return(const store::Lease& lease, absl::string_view reason, store::Ended ended, const store::Ending& ending,
              absl::Time now, store::Callback<sassay::v1::Event> done) override;
  absl::StatusOr<std::vector<store::Renewal>> Renew(const std::vector<store::Lease>& leases,
                                                    absl::Time expires_at) override;
  void Cancel(absl::string_view tenant, absl::string_view id, sassay::v1::Verdict verdict,
              store::Callback<store::Cancellation> done) override;
  void FinishQueued(absl::string_view id, sassay::v1::Verdict verdict,
                    store::Callback<sassay::v1::Event> done) override;
  absl::StatusOr<std::vector<store::Submission>> PastQueueDeadline(absl::Time now, int limit) override;
  absl::StatusOr<absl::Time> NextQueueDeadline() override;
  absl::StatusOr<std::vector<store::Lease>> LeasesExpiredBy(absl::Time now) override;
  absl::StatusOr<store::Submission> Leased(const store::Lease& lease) override;
  absl::StatusOr<std::vector<store::Lease>> LeasesOf(absl::string_view prefix) override;
  absl::StatusOr<store::Submission> Get(absl::string_view tenant, absl::string_view id) override;
  absl::StatusOr<std::vector<sassay::v1::Event>> Events(absl::string_view id, uint64_t after, int limit) override;
  absl::StatusOr<std::vector<store::ProgressOf>> Progress(const std::vector<std::string>& ids) override;
  absl::StatusOr<store::Depths> CountDepths() override;
  absl::StatusOr<int> Trim(absl::Time before, int limit) override;
  void Exclude(const store::BadWindow& window, uint32_t max_exclusions, absl::Time now,
               store::Callback<store::Exclusions> done) override;
  absl::StatusOr<std::vector<store::BadWindow>> OpenWindows() override;
  absl::Status CloseWindows(absl::string_view gpu, absl::Time now) override;
  absl::StatusOr<std::vector<store::ExcludedEvent>> ExcludedSince(absl::string_view tenant, absl::Time from,
                                                                  uint64_t after, int limit) override;
  absl::StatusOr<uint64_t> LastExcluded() override;
  absl::StatusOr<std::vector<store::Attempt>> AttemptsOn(absl::string_view gpu, absl::Time from,
                                                         absl::Time to) override;
  absl::StatusOr<std::vector<store::Attempt>> AttemptsOf(absl::string_view id) override;
  void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                    store::Callback<sassay::v1::Event> done) override;
  absl::StatusOr<std::vector<store::Provisional>> Provisionals() override;
  absl::Status PlaceHold(const store::Hold& hold) override;
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override;
  absl::StatusOr<std::vector<store::Hold>> Holds() override;
  absl::Status RecordIncident(const sassay::v1::Incident& incident) override;
  absl::StatusOr<std::vector<store::IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after,
                                                                    int limit) override;
  absl::StatusOr<uint64_t> LastIncident() override;
  absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(absl::string_view tenant, absl::Time now) override;
  absl::Status SetWeight(absl::string_view tenant, uint32_t weight) override;
  absl::Status PutNode(const store::NodeRecord& node) override;
  absl::Status DropNode(absl::string_view name, absl::string_view instance) override;
  absl::StatusOr<std::vector<store::NodeRecord>> Nodes() override;
  absl::Status Audit(const store::AuditRecord& record) override;
  absl::StatusOr<std::vector<store::AuditRecord>> AuditLog(uint64_t after, int limit) override;

  // --- what a node needs beside a Store ---

  // What a sign of life says of them.
  sassay::v1::HeldLeases Held() const { return writer_.Held(); }
  // The bundle of a lease that is held here.
  absl::StatusOr<std::string> ReadBundle(const store::Lease& lease);
  // Keeps a file that belongs to the verdict of such a lease; answers its SHA-256.
  absl::StatusOr<std::string> KeepArtifact(const store::Lease& lease, absl::string_view bytes);

 private:
  template <typename Request, typename Response>
  absl::Status Ask(FrontEnds::Method<Request, Response> method, const Request& request, Response& response) {
    return front_ends_.Call(method, request, response, SteadyNow() + options_.patience);
  }
  void MakeAcquire(sassay::v1::AcquireRequest request, absl::Time until,
                   const store::Callback<absl::optional<store::Lease>>& done);
  void ReadHints();
  void Hear(const sassay::v1::WatchResponse& hint);

  FrontEnds& front_ends_;
  const RemoteStoreOptions options_;
  // Used on the writer's thread alone.
  uint64_t next_number_ = 1;
  bool acquire_unsure_ = false;  // an answer to `next_number_` was lost
  store::sql::EchoAnnouncer hints_;
  std::atomic<bool> ending_ = false;
  RemoteWriter writer_;
  std::thread watcher_;
};

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_STORE_H_
