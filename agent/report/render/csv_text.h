// A report's section as comma-separated values.
#ifndef SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_
#define SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_

#include <string>

#include "agent/report/render/sections.h"

namespace sassay::agent {

// RFC 4180 with newlines for line ends; numbers in full.
std::string CsvText(const ReportTable& table);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_RENDER_CSV_TEXT_H_
