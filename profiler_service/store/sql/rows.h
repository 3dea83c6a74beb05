// How a row of `submissions` becomes a struct.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_ROWS_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_ROWS_H_

#include <string>

#include "google/protobuf/message.h"
#include "profiler_service/store/sql/db.h"
#include "profiler_service/store/store.h"

// The columns in the order in which ReadSubmission and ReadLease expect them; followed by a WHERE clause.
#define SASSAY_SELECT_SUBMISSION                                                                                \
  "SELECT id, tenant, request, state, accepted_at, queue_deadline, run_deadline, attempt, losses, cancelling, " \
  "last_sequence, owner, epoch, expires_at, failures, exclusions, (SELECT count(*) FROM provisional WHERE "     \
  "provisional.id = submissions.id) FROM submissions "

// Behind a condition on `id`. Written plainly it would let the planner take an index of all that waits or runs instead,
// where its statistics say that this is next to nothing: they are never right for a queue.
#define SASSAY_IN_STATE "state + 0 = "

// For Progress; followed by a WHERE clause.
#define SASSAY_SELECT_PROGRESS                                                                            \
  "SELECT id, last_sequence, state = 2 AND NOT EXISTS (SELECT 1 FROM provisional WHERE provisional.id = " \
  "submissions.id) FROM submissions "

namespace sassay::store::sql {

// A damaged request makes an unreadable Submission, not an error: one bad row must not stop the others.
Submission ReadSubmission(const Query& row);
Lease ReadLease(const Query& row);

// Equal requests have equal bytes.
std::string CanonicalBytes(const google::protobuf::Message& message);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_ROWS_H_
