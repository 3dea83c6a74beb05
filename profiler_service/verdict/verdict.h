// The verdict: one pure function from what the stages saw to what became of the candidate. First cause wins.
//
// Order of causes:
//   1. cancelled                                       CANCELLED
//   2. refused before running                          REJECTED, whatever the code (or INFRA_ERROR: a barred digest)
//   3. our own trouble in evaluate                     INFRA_ERROR
//   4. a convicting finding of the sanitizer           SANITIZER_ERROR: the cause, where evaluate saw only its effect
//      (except after a trap or an assertion: there the kernel itself has said what is wrong)
//   5. a race or a barrier that not every thread       SANITIZER_ERROR: the cause; without the differences that
//      reaches, where equal calls gave other outputs   evaluate saw, such a finding only advises
//   6. evaluate's failure                              by its code
//   7. a worker that was lost while it sanitized       INFRA_ERROR: nobody has looked
//   8. timing's failure                                by its code
//   9. nothing was evaluated                           INFRA_ERROR: evaluate always runs, so this is our mistake
//  10. no comparison found the outputs right           INFRA_ERROR: the same
//  11. otherwise                                       CORRECT
// A failure never ends CORRECT, whatever code came with it. A stage that cannot run here is a note, never guilt and
// never innocence.
//
// Scorable: CORRECT, VERIFIED, captured strictly, seen by the sanitizer, not excluded, and with seeds that nobody could
// know.
#ifndef SASSAY_PROFILER_SERVICE_VERDICT_VERDICT_H_
#define SASSAY_PROFILER_SERVICE_VERDICT_VERDICT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::verdict {

// Part of every verdict. Changes whenever the same observations could give another verdict, or the deciding rule of
// judge/numerics/compare.h or the input distributions change.
inline constexpr absl::string_view kRulesVersion = "2026.4";

// A note of verdicts on outputs that were wrong twice in the same way (EvaluateSeen::wrong_by_itself).
inline constexpr char kWrongTwiceAlike[] =
    "memcheck was not run: the outputs were wrong in the same way with other bytes in all memory that the kernel has "
    "not written, so no stray read there explains them; --sanitize full runs it, and the other tools";

// The most findings and warps a verdict carries.
inline constexpr int kMaxFindings = 16;
inline constexpr int kMaxWarps = 16;

// The status that a cause leads to. Total over the enum: INTERNAL's for codes that no stage of the service gives.
sassay::v1::VerdictStatus StatusOf(sassay::v1::VerdictCode code);

// Whether the code is our own trouble.
bool IsInfrastructure(sassay::v1::VerdictCode code);

// All but submission_id, attempt and decided_at.
sassay::v1::Verdict Decide(const Observations& seen);

// One line about outputs that are wrong: how many, the worst element, expected, actual, and the pattern.
std::string DescribeNumerics(const sassay::v1::Numerics& numerics);

}  // namespace sassay::verdict

#endif  // SASSAY_PROFILER_SERVICE_VERDICT_VERDICT_H_
