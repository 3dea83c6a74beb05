// How attempts end: their records, what excludes them, and when their timing is final. Steps of the writes in
// operations.h, inside the same transaction.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_ATTEMPTS_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_ATTEMPTS_H_

#include <cstdint>
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

// Sum of device_ns of the verdict's stages that ran for it.
uint64_t GpuTimeOf(const sassay::v1::Verdict& verdict);

// Gives the event its place at the end of the submission's list, in `submission` too; SaveLast has to follow.
absl::StatusOr<sassay::v1::Event> PutNext(Db& db, Submission& submission, sassay::v1::Event event);
// Keeps where the list ends.
absl::Status SaveLast(Db& db, const Submission& submission);
// Both.
absl::StatusOr<sassay::v1::Event> AppendNext(Db& db, Submission& submission, sassay::v1::Event event);

// Writes the verdict's event and ends the submission; counts it.
absl::StatusOr<sassay::v1::Event> EndWith(Db& db, Submission& submission, const sassay::v1::Verdict& verdict);
// Writes down the attempt that ended with `verdict`, and that its timing is not final if it is not.
absl::Status RecordFinished(Db& db, const Submission& submission, const sassay::v1::Verdict& verdict,
                            const Ending& ending);
// Writes down an attempt that ended without a verdict; what its stages took is in its events. Answers that, in ns.
absl::StatusOr<uint64_t> RecordLost(Db& db, const Submission& submission, const Ending& ending, absl::Time now);

// What excludes an attempt with a place on `gpu` from `seated_at` to `ended_at`.
absl::StatusOr<absl::optional<sassay::v1::Exclusion>> FindWindow(Db& db, absl::string_view gpu, absl::Time seated_at,
                                                                 absl::Time ended_at);
// Excludes the submission's last attempt: the record beside it and the Excluded event. The caller moves its state.
absl::StatusOr<sassay::v1::Event> MarkExcluded(Db& db, Submission& submission, const sassay::v1::Exclusion& exclusion,
                                               bool rerun, absl::Time now);
// The same for one that has a verdict, which counts no more; the submission waits again if `rerun`.
absl::StatusOr<sassay::v1::Event> ExcludeVerdict(Db& db, Submission& submission, const sassay::v1::Exclusion& exclusion,
                                                 bool rerun, absl::Time now);

// As in store.h.
absl::StatusOr<Exclusions> Exclude(Db& db, const BadWindow& window, uint32_t max_exclusions, absl::Time now);
absl::StatusOr<std::vector<BadWindow>> OpenWindows(Db& db);
absl::StatusOr<bool> CloseWindows(Db& db, const std::string& gpu, absl::Time now);
absl::StatusOr<sassay::v1::Event> SettleTiming(Db& db, const std::string& id, uint32_t attempt,
                                               const std::string& warning, absl::Time now);
absl::StatusOr<std::vector<Provisional>> Provisionals(Db& db);
absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(Db& db, absl::string_view tenant, absl::Time from,
                                                         uint64_t after, int limit);
absl::StatusOr<uint64_t> LastExcluded(Db& db);
absl::StatusOr<std::vector<Attempt>> AttemptsOn(Db& db, absl::string_view gpu, absl::Time from, absl::Time to);
absl::StatusOr<std::vector<Attempt>> AttemptsOf(Db& db, absl::string_view id);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_ATTEMPTS_H_
