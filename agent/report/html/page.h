// The report as one page that needs nothing else.
#ifndef SASSAY_AGENT_REPORT_HTML_PAGE_H_
#define SASSAY_AGENT_REPORT_HTML_PAGE_H_

#include <string>

#include "agent/report/turn_table.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

// HTML with inline SVG and CSS, no script and no outside request (its own policy forbids both), light or dark as the
// reader's system is. `report` must be MakeReport's of `turns`. The same report gives the same bytes.
std::string HtmlPage(const v1::Report& report, const TurnTable& turns);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_HTML_PAGE_H_
