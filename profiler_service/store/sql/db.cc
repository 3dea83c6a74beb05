#include "profiler_service/store/sql/db.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace sassay::store::sql {

absl::Status Statement::Run() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return absl::OkStatus();
  }
}

bool IsDatabaseFailure(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsInternal(status) || absl::IsUnknown(status);
}

void Merge(const Scope& scope, Scope& into) {
  if (scope.durability == Durability::kDisk) into.durability = Durability::kDisk;
  into.admits |= scope.admits;
  into.dispatches |= scope.dispatches;
  into.windows = std::max(into.windows, scope.windows);
  into.submissions.insert(into.submissions.end(), scope.submissions.begin(), scope.submissions.end());
  into.records |= scope.records;
  into.alone |= scope.alone;
}

absl::Status ForEach(Db& db, const char* sql, size_t count, absl::FunctionRef<void(size_t, Query&)> bind,
                     absl::FunctionRef<absl::Status(size_t, Query&)> read) {
  for (size_t first = 0; first < count; first += db.ahead()) {
    std::vector<Query> queries;
    for (size_t i = first; i < std::min(count, first + db.ahead()); ++i) {
      bind(i, queries.emplace_back(db.Prepare(sql)));
      queries.back().Ask();
    }
    for (size_t i = 0; i < queries.size(); ++i) RETURN_IF_ERROR(read(first + i, queries[i]));
  }
  return absl::OkStatus();
}

}  // namespace sassay::store::sql
