// What each write of the store does inside its transaction.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_OPERATIONS_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_OPERATIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/store/sql/db.h"
#include "profiler_service/store/store.h"

namespace sassay::store::sql {

// All of them look first and write only when nothing can refuse any more (see GroupWriter). Errors as in store.h. The
// first two are done for many together.
absl::Status Submit(Db& db, const std::vector<const NewSubmission*>& submissions,
                    std::vector<absl::StatusOr<Submitted>>& answers);
struct Appending {
  Lease lease;
  sassay::v1::Event event;
};
absl::Status Append(Db& db, const std::vector<const Appending*>& events,
                    std::vector<absl::StatusOr<sassay::v1::Event>>& answers);
absl::StatusOr<std::vector<sassay::v1::Event>> Finish(Db& db, const Lease& lease, const sassay::v1::Verdict& verdict,
                                                      const Ending& ending);
absl::StatusOr<sassay::v1::Event> Return(Db& db, const Lease& lease, const std::string& reason, Ended ended,
                                         const Ending& ending, absl::Time now);
absl::StatusOr<std::vector<Renewal>> Renew(Db& db, const std::vector<Lease>& leases, absl::Time expires_at);
absl::StatusOr<Cancellation> Cancel(Db& db, const std::string& tenant, const std::string& id,
                                    const sassay::v1::Verdict& verdict);
absl::StatusOr<sassay::v1::Event> FinishQueued(Db& db, const std::string& id, const sassay::v1::Verdict& verdict);
absl::StatusOr<int> Trim(Db& db, absl::Time before, int limit);
absl::StatusOr<bool> PlaceHold(Db& db, const Hold& hold);
absl::StatusOr<bool> LiftHold(Db& db, const std::string& gpu, const std::string& holder);
absl::StatusOr<bool> RecordIncident(Db& db, const sassay::v1::Incident& incident);
absl::StatusOr<bool> Audit(Db& db, const AuditRecord& record);
absl::StatusOr<bool> SetWeight(Db& db, const std::string& tenant, uint32_t weight);
absl::StatusOr<bool> PutNode(Db& db, const NodeRecord& node);
absl::StatusOr<bool> DropNode(Db& db, const std::string& name, const std::string& instance);

// A step of the others.
absl::Status InsertEvent(Db& db, const sassay::v1::Event& event);

// Reads, shared with the reading connection.
absl::StatusOr<Submission> Get(Db& db, absl::string_view tenant, absl::string_view id);
absl::StatusOr<std::vector<Submission>> PastQueueDeadline(Db& db, absl::Time now, int limit);
absl::StatusOr<absl::Time> NextQueueDeadline(Db& db);
absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(Db& db, absl::Time now);
absl::StatusOr<Submission> Leased(Db& db, const Lease& lease);
absl::StatusOr<std::vector<Lease>> LeasesOf(Db& db, absl::string_view prefix);
absl::StatusOr<std::vector<sassay::v1::Event>> Events(Db& db, absl::string_view id, uint64_t after, int limit);
absl::StatusOr<absl::optional<std::string>> FindEarlier(Db& db, absl::string_view tenant,
                                                        const sassay::v1::ProfileRequest& request);
absl::StatusOr<std::vector<ProgressOf>> Progress(Db& db, const std::vector<std::string>& ids);
absl::StatusOr<Depths> CountDepths(Db& db);
absl::StatusOr<std::vector<Hold>> Holds(Db& db);
absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(Db& db, absl::Time from, uint64_t after, int limit);
absl::StatusOr<uint64_t> LastIncident(Db& db);
absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(Db& db, absl::string_view tenant, absl::Time now);
absl::StatusOr<std::vector<AuditRecord>> AuditLog(Db& db, uint64_t after, int limit);
absl::StatusOr<std::vector<NodeRecord>> Nodes(Db& db);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_OPERATIONS_H_
