// The parts of a page, in its order. Each returns what stands between <section> and </section>.
#ifndef SASSAY_AGENT_REPORT_HTML_SECTIONS_H_
#define SASSAY_AGENT_REPORT_HTML_SECTIONS_H_

#include <string>

#include "agent/report/html/page_model.h"

namespace sassay::agent {

std::string ScoreSection(const PageModel& model);
std::string SpeedupSection(const PageModel& model);
std::string FastPSection(const PageModel& model);
std::string OutcomeSection(const PageModel& model);
std::string TransitionSection(const PageModel& model);
std::string ReasoningSection(const PageModel& model);
std::string CostSection(const PageModel& model);
std::string GridSection(const PageModel& model);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_HTML_SECTIONS_H_
