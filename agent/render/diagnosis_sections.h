// The parts of a rendered verdict that sanitizers and diagnoses fill; each is empty if there is nothing for it.
#ifndef SASSAY_AGENT_RENDER_DIAGNOSIS_SECTIONS_H_
#define SASSAY_AGENT_RENDER_DIAGNOSIS_SECTIONS_H_

#include <string>

#include "common/terminal/style.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// What each tool of the sanitizer said, and on which shape.
std::string SanitizersSection(const v1::Verdict& verdict, const Style& style);
// What was asked for with --diagnose: numbers, advice, hot instructions, files.
std::string DiagnosesSection(const v1::Verdict& verdict, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_DIAGNOSIS_SECTIONS_H_
