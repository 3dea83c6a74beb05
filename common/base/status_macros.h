// Early return on error, for code whose every failure is an absl::Status.
#ifndef SASSAY_COMMON_BASE_STATUS_MACROS_H_
#define SASSAY_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SASSAY_CONCAT_INNER_(a, b) a##b
#define SASSAY_CONCAT_(a, b) SASSAY_CONCAT_INNER_(a, b)

// Returns the status of `expression` from the enclosing function unless it is OK.
#define RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                        \
    if (absl::Status sassay_status = (expression); !sassay_status.ok()) return sassay_status; \
  } while (false)

// Evaluates a StatusOr; assigns its value to `lhs` (which may declare) or returns its status.
#define ASSIGN_OR_RETURN(lhs, expression) \
  SASSAY_ASSIGN_OR_RETURN_IMPL_(SASSAY_CONCAT_(sassay_status_or_, __LINE__), lhs, expression)
#define SASSAY_ASSIGN_OR_RETURN_IMPL_(temporary, lhs, expression) \
  auto temporary = (expression);                                  \
  if (!temporary.ok()) return temporary.status();                 \
  lhs = *std::move(temporary)

#endif  // SASSAY_COMMON_BASE_STATUS_MACROS_H_
