// How a row of `submissions` becomes a struct.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQLITE_ROWS_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQLITE_ROWS_H_

#include "absl/status/statusor.h"
#include "profiler_service/store/sqlite_db.h"
#include "profiler_service/store/store.h"

// The columns in the order in which ReadSubmission and ReadLease expect them; followed by a WHERE clause.
#define SASSAY_SELECT_SUBMISSION                                                                                \
  "SELECT id, tenant, request, state, accepted_at, queue_deadline, run_deadline, attempt, losses, cancelling, " \
  "last_sequence, owner, epoch, expires_at, failures FROM submissions "

namespace sassay::store::sqlite {

// DATA_LOSS if the stored request cannot be parsed.
absl::StatusOr<Submission> ReadSubmission(const Query& row);
absl::StatusOr<Lease> ReadLease(const Query& row);

}  // namespace sassay::store::sqlite

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQLITE_ROWS_H_
