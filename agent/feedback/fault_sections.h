// The parts of a feedback that say what went wrong and where. Each adds nothing if the verdict has nothing for it.
#ifndef SASSAY_AGENT_FEEDBACK_FAULT_SECTIONS_H_
#define SASSAY_AGENT_FEEDBACK_FAULT_SECTIONS_H_

#include "agent/feedback/composer.h"
#include "agent/feedback/excerpt.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// Compiler messages with their source lines, errors first.
void AddDiagnostics(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer);
// Misuses of memory and synchronisation: who, where, which buffer.
void AddFindings(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer);
// Where the warps stand when a kernel did not end, and what each waits for.
void AddWarps(const v1::VerdictDetails& details, const SourceExcerpts& excerpts, Composer& composer);
// Findings of the sanitizer's tools that did not decide the verdict.
void AddAdvisoryFindings(const v1::Verdict& verdict, const SourceExcerpts& excerpts, Composer& composer);
// What kernels printed, quoted.
void AddDeviceOutput(const v1::VerdictDetails& details, Composer& composer);
// The tensors of the workload with shape and size: what an index may not pass.
void AddTensors(const v1::Workload& workload, Composer& composer);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_FAULT_SECTIONS_H_
