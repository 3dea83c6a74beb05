// A report for terminals and pipes.
#ifndef SASSAY_AGENT_REPORT_RENDER_TABLE_TEXT_H_
#define SASSAY_AGENT_REPORT_RENDER_TABLE_TEXT_H_

#include <string>

#include "agent/report/render/sections.h"
#include "common/terminal/style.h"

namespace sassay::agent {

// The scores as the paper prints them, with the counts beside them, and what to keep in mind. Foreign text is made
// printable.
std::string ScoresText(const v1::Report& report, const Style& style);

// Any section in aligned columns, then what to keep in mind.
std::string SectionText(const ReportTable& table, const v1::Report& report, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_RENDER_TABLE_TEXT_H_
