// A report's section as comma-separated values.
#ifndef SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_
#define SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_

#include <string>

#include "agent/report/render/sections.h"

namespace sassay::agent {

// RFC 4180 with newlines for line ends; numbers in full. Names come from models, data sets and other people's tables:
// controls and invisible characters are spelled out (Printable), and a text that a spreadsheet would take for a formula
// (it begins with = + - @ or a tab) stands behind an apostrophe.
std::string CsvText(const ReportTable& table);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_
