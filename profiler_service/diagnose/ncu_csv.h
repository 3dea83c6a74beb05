// What `ncu --page details --csv` prints, as messages.
#ifndef SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_CSV_H_
#define SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_CSV_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/diagnosis.pb.h"

namespace sassay::diagnose {

inline constexpr int kMaxMetrics = 400;
inline constexpr int kMaxAdvice = 32;

// Adds metrics, advice and a line of summary per launch to `report`. Lines before the header ("==PROF== …") are passed
// over; columns are found by name (release 2025.3; a sample lies in testdata/). DATA_LOSS if there is no header;
// NOT_FOUND if no launch was profiled.
absl::Status ReadNcuCsv(absl::string_view untrusted_csv, sassay::v1::DiagnosisReport& report);

}  // namespace sassay::diagnose

#endif  // SASSAY_PROFILER_SERVICE_DIAGNOSE_NCU_CSV_H_
