// The parts of a rendered verdict; each is empty if the verdict has nothing for it.
#ifndef SASSAY_AGENT_RENDER_VERDICT_SECTIONS_H_
#define SASSAY_AGENT_RENDER_VERDICT_SECTIONS_H_

#include <string>

#include "common/terminal/style.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// Compiler messages with source lines.
std::string DiagnosticsSection(const v1::VerdictDetails& details, const Style& style);
// Misuses of memory and synchronisation with thread, source line and PTX line.
std::string FindingsSection(const v1::VerdictDetails& details, const Style& style);
// Where warps stood when the kernel did not end.
std::string WarpsSection(const v1::VerdictDetails& details, const Style& style);
// Count, worst element, expected, actual and pattern per output.
std::string NumericsSection(const v1::Numerics& numerics, const Style& style);
// Executed instruction families.
std::string EvidenceSection(const v1::Evidence& evidence, const Style& style);
// Times and speedup with their conditions.
std::string TimingSection(const v1::Timing& timing, const Style& style);
// What each stage took and said.
std::string StagesSection(const v1::Verdict& verdict, const Style& style);
// What the candidate printed, notes, warnings.
std::string NotesSection(const v1::VerdictDetails& details, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_VERDICT_SECTIONS_H_
