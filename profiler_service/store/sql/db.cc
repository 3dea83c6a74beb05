#include "profiler_service/store/sql/db.h"

#include <algorithm>

#include "common/base/status_macros.h"

namespace sassay::store::sql {

absl::Status Query::Run() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return absl::OkStatus();
  }
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

}  // namespace sassay::store::sql
