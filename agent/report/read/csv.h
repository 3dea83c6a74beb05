// Comma-separated values, strictly: somebody else's table is read as it was meant, or refused where it says otherwise.
#ifndef SASSAY_AGENT_REPORT_READ_CSV_H_
#define SASSAY_AGENT_REPORT_READ_CSV_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sassay::agent {

// One field and where it begins, from 1; columns count bytes.
struct CsvField {
  std::string text;
  size_t line = 0;
  size_t column = 0;
};
using CsvRow = std::vector<CsvField>;

// Bounds of what is read at once.
struct CsvLimits {
  size_t max_rows = 2'000'000;
  size_t max_fields = 256;
  size_t max_field_bytes = 64 << 10;
};

// "line 3, column 17: MESSAGE", INVALID_ARGUMENT.
absl::Status CsvError(size_t line, size_t column, absl::string_view message);
absl::Status CsvError(const CsvField& field, absl::string_view message);

// Hands each row to `take`, the header too, as RFC 4180 has it: quotes only around whole fields, every row as long as
// the first. Empty lines are passed over, and a byte-order mark before the first. A row is gone when `take` returns, so
// memory is bounded by the limits, whatever the text. The first error, also one of `take`, ends it.
absl::Status ReadCsv(absl::string_view text, const CsvLimits& limits,
                     absl::FunctionRef<absl::Status(const CsvRow&)> take);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_READ_CSV_H_
