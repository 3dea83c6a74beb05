#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::sql {

std::string CanonicalBytes(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

Submission ReadSubmission(const Query& row) {
  Submission submission;
  submission.id = row.Text(0);
  submission.tenant = row.Text(1);
  submission.readable = submission.request.ParseFromString(row.Blob(2));
  if (!submission.readable) submission.request.Clear();
  submission.state = static_cast<State>(row.Int(3));
  submission.accepted_at = row.Time(4);
  submission.queue_deadline = row.Time(5);
  submission.run_deadline = absl::Nanoseconds(row.Int(6));
  submission.attempt = static_cast<uint32_t>(row.Int(7));
  submission.losses = static_cast<uint32_t>(row.Int(8));
  submission.cancelling = row.Int(9) != 0;
  submission.last_sequence = static_cast<uint64_t>(row.Int(10));
  submission.failures = static_cast<uint32_t>(row.Int(14));
  submission.exclusions = static_cast<uint32_t>(row.Int(15));
  submission.provisional = row.Int(16) != 0;
  return submission;
}

Lease ReadLease(const Query& row) {
  Lease lease;
  lease.submission = ReadSubmission(row);
  lease.owner = row.Text(11);
  lease.epoch = static_cast<uint64_t>(row.Int(12));
  lease.expires_at = row.Time(13);
  return lease;
}

absl::StatusOr<Submission> Get(Db& db, absl::string_view tenant, absl::string_view id) {
  Query query = db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE id = ? AND tenant = ?");
  ASSIGN_OR_RETURN(const bool found, query.Bind(id).Bind(tenant).Step());
  if (!found) {
    return absl::NotFoundError(
        absl::StrCat("no submission '", id, "' of this tenant; ids come from the first event of Profile"));
  }
  return ReadSubmission(query);
}

absl::StatusOr<std::vector<Submission>> PastQueueDeadline(Db& db, absl::Time now, int limit) {
  Query query =
      db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE state = 0 AND queue_deadline <= ? ORDER BY queue_deadline LIMIT ?");
  query.Bind(now).Bind(limit);
  std::vector<Submission> submissions;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return submissions;
    submissions.push_back(ReadSubmission(query));
  }
}

absl::StatusOr<absl::Time> NextQueueDeadline(Db& db) {
  Query query = db.Prepare("SELECT queue_deadline FROM submissions WHERE state = 0 ORDER BY queue_deadline LIMIT 1");
  ASSIGN_OR_RETURN(const bool found, query.Step());
  return found ? query.Time(0) : absl::InfiniteFuture();
}

namespace {

absl::StatusOr<std::vector<Lease>> ReadLeases(Query& query) {
  std::vector<Lease> leases;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return leases;
    leases.push_back(ReadLease(query));
  }
}

}  // namespace

absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(Db& db, absl::Time now) {
  Query query = db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE state = 1 AND expires_at <= ? ORDER BY place");
  query.Bind(now);
  return ReadLeases(query);
}

absl::StatusOr<std::vector<Lease>> LeasesOf(Db& db, absl::string_view prefix) {
  if (prefix.empty()) return LeasesExpiredBy(db, absl::InfiniteFuture());
  std::string behind(prefix);  // the first text behind all that begin so
  ++behind.back();
  Query query = db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE state = 1 AND owner >= ? AND owner < ? ORDER BY place");
  query.Bind(prefix).Bind(behind);
  return ReadLeases(query);
}

absl::StatusOr<Submission> Leased(Db& db, const Lease& lease) {
  Query query =
      db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE id = ? AND " SASSAY_IN_STATE "1 AND epoch = ? AND owner = ?");
  query.Bind(lease.submission.id).Bind(static_cast<int64_t>(lease.epoch)).Bind(lease.owner);
  ASSIGN_OR_RETURN(const bool found, query.Step());
  if (found) return ReadSubmission(query);
  return absl::AbortedError(absl::StrCat("submission ", lease.submission.id, ": the lease with epoch ", lease.epoch,
                                         " is lost, or is somebody else's"));
}

absl::StatusOr<std::vector<sassay::v1::Event>> Events(Db& db, absl::string_view id, uint64_t after, int limit) {
  Query query = db.Prepare(
      "SELECT event, sequence = last_sequence AND state = 2 AND NOT EXISTS (SELECT 1 FROM provisional WHERE "
      "provisional.id = submissions.id) FROM events JOIN submissions USING (id) WHERE id = ? AND sequence > ? ORDER BY "
      "sequence LIMIT ?");
  query.Bind(id).Bind(static_cast<int64_t>(after)).Bind(limit);
  std::vector<sassay::v1::Event> events;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return events;
    if (!events.emplace_back().ParseFromString(query.Blob(0))) {
      return absl::DataLossError(absl::StrCat("submission ", id, ": a stored event cannot be read"));
    }
    events.back().set_last(query.Int(1) != 0);
  }
}

absl::StatusOr<std::vector<ProgressOf>> Progress(Db& db, const std::vector<std::string>& ids) {
  Query query = db.Prepare(db.dialect().progress);
  query.Bind(nlohmann::json(ids).dump());
  std::vector<ProgressOf> known;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return known;
    known.push_back({query.Text(0), static_cast<uint64_t>(query.Int(1)), query.Int(2) != 0});
  }
}

absl::StatusOr<Depths> CountDepths(Db& db) {
  Query query = db.Prepare(
      "SELECT CAST(coalesce(sum(queued), 0) AS BIGINT), CAST(coalesce(sum(leased), 0) AS BIGINT) FROM tenants");
  RETURN_IF_ERROR(query.Step().status());
  return Depths{static_cast<uint64_t>(query.Int(0)), static_cast<uint64_t>(query.Int(1))};
}

absl::StatusOr<std::vector<AuditRecord>> AuditLog(Db& db, uint64_t after, int limit) {
  Query query = db.Prepare(
      "SELECT sequence, at, actor, action, target, outcome, detail FROM audit WHERE sequence > ? ORDER BY sequence "
      "LIMIT ?");
  query.Bind(static_cast<int64_t>(after)).Bind(limit);
  std::vector<AuditRecord> records;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return records;
    records.push_back({static_cast<uint64_t>(query.Int(0)), query.Time(1), query.Text(2), query.Text(3), query.Text(4),
                       query.Text(5), query.Text(6)});
  }
}

}  // namespace sassay::store::sql
